/* lowport PORT COMMAND...: opens a TCP socket on 127.0.0.1:PORT and runs COMMAND with it as descriptor 3.
   It carries the capability cap_net_bind_service, so that COMMAND itself needs no privilege. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in where = {.sin_family = AF_INET};
    int one = 1;
    int sock;

    if (argc < 3) {
        fprintf(stderr, "usage: lowport PORT COMMAND...\n");
        return 2;
    }
    where.sin_port = htons((unsigned short)atoi(argv[1]));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sock = socket(AF_INET, SOCK_STREAM, 0);
    if (sock < 0
        || setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0
        || bind(sock, (struct sockaddr *)&where, sizeof where) < 0
        || listen(sock, 64) < 0
        || dup2(sock, 3) < 0) {
        perror("lowport");
        return 1;
    }
    if (sock != 3)
        close(sock);
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
