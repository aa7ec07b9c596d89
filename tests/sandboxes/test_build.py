"""Real builds on the real back end: layers, the cache, failures, and what a build leaves behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from cligym.errors import BuildError, ImageError
from cligym.sandboxes.apt_mirrors import find_mirrors
from cligym.sandboxes.atomic_file import try_file_lock
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.build import BuildEvent, StepState, build
from cligym.sandboxes.build_steps import OUTPUT_CHARACTERS
from cligym.sandboxes.entry import Kind
from cligym.sandboxes.host_settings import SITE
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend

pytestmark = pytest.mark.userns

FROM = "FROM debian:bookworm-slim\n"


@pytest.fixture(autouse=True)
def _base(tidy_store: None, base_image: Image) -> None:
    """Every build here starts from the base image."""


def sh(backend: NamespaceBackend, image: Image, command: str) -> str:
    """What a command prints in a box of the image."""
    with backend.start(SandboxSpec(image=image)) as sandbox:
        env = dict(image.config.env)
        result = sandbox.execute(["/bin/sh", "-c", command], env=env, cwd=image.config.workdir)
    assert result.exit_code == 0, result.output
    return result.output.decode()


def made(backend: NamespaceBackend, body: str, context: Path | None = None) -> Image:
    """A build of our own: the store outlives the run, and a remembered step would test nothing."""
    text = FROM + textwrap.dedent(body)
    return build(text, backend, context=context, use_cache=False)


def new_layers(image: Image) -> int:
    return len(image.layers) - 1


def test_ten_tasks_on_one_gold_cost_ten_small_layers(backend: NamespaceBackend) -> None:
    start = f"{FROM}RUN mkdir /testbed && seq 100000 > /testbed/data; : {time.time_ns()}\n"
    gold = build(start, backend)
    tasks = [
        build(f"{start}RUN echo {number} > /testbed/broken\n", backend) for number in range(10)
    ]
    assert {task.layers[:2] for task in tasks} == {gold.layers}
    assert len({task.layers[2] for task in tasks}) == 10
    for task in tasks:
        assert backend.store.size(task.layers[2]) == 2
        assert sorted(backend.store.diff(gold, task).changed) == [b"testbed/broken"]


def test_second_build_runs_nothing(backend: NamespaceBackend) -> None:
    marker = time.time_ns()
    text = f"{FROM}RUN echo {marker} > /m; cat /proc/sys/kernel/random/uuid > /uuid\n"
    first = build(text, backend)
    events: list[BuildEvent] = []
    assert build(text, backend, progress=events.append) == first
    assert [e.state for e in events if e.number == 2] == [StepState.STARTED, StepState.CACHED]
    assert {(e.number, e.total) for e in events} == {(1, 2), (2, 2)}
    assert build(text, backend, use_cache=False) != first


def test_dash_and_bash_differ(backend: NamespaceBackend) -> None:
    image = made(
        backend,
        r"""
        RUN printf '\x51' > /dash; printf '\121' >> /dash
        SHELL ["/bin/bash", "-c"]
        RUN printf '\x51' > /bash; [[ a == a ]] && echo $0 >> /bash
        """,
    )
    assert sh(backend, image, "cat /dash") == "\\x51Q"
    assert sh(backend, image, "cat /bash") == "Q/bin/bash\n"


def test_heredocs(backend: NamespaceBackend) -> None:
    image = made(
        backend,
        """
        ENV WHO=me
        RUN <<EOF
        set -e
        echo "one $WHO" > /1
        EOF
        RUN cat <<'EOF' > /2 && echo tail >> /2
        two $WHO
        EOF
        RUN sh - <<EOF
        echo three > /3
        EOF
        RUN <<-EOF
        #!/usr/bin/perl
        open(my $f, ">", "/4"); print $f "four $ENV{WHO}\\n";
        EOF
        COPY <<EOF <<"RAW" /etc/conf/
        five ${WHO:-x} "q"
        EOF
        six ${WHO}
        RAW
        """,
    )
    printed = sh(backend, image, "cat /1 /2 /3 /4 /etc/conf/EOF /etc/conf/RAW")
    assert printed.splitlines() == [
        "one me",
        "two $WHO",
        "tail",
        "three",
        "four me",
        'five me "q"',
        "six ${WHO}",
    ]


@pytest.mark.usefixtures("id_range")
def test_env_arg_workdir_user(backend: NamespaceBackend) -> None:
    text = f"""{FROM}
ARG COLOUR=red
ENV A=1 B="$COLOUR x"
ENV A=2 C=$A
WORKDIR /srv/app
WORKDIR sub
RUN echo "$A|$B|$C|$COLOUR|$(pwd)" > out
USER nobody
RUN id -un > /tmp/who; echo "$HOME" >> /tmp/who
WORKDIR own
CMD ["run", "it"]
"""
    image = build(text, backend, args={"COLOUR": "blue"}, use_cache=False)
    assert sh(backend, image, "cat /srv/app/sub/out") == "2|blue x|1|blue|/srv/app/sub\n"
    assert sh(backend, image, "cat /tmp/who") == "nobody\n/nonexistent\n"
    root = backend.store.manifest(image)
    assert root[b"srv/app"].uid == 0 and root[b"srv/app/sub/own"].uid == 65534
    config = image.config
    assert (config.workdir, config.user, config.cmd) == (
        "/srv/app/sub/own",
        "nobody",
        ("run", "it"),
    )
    assert dict(config.env) | {"PATH": ""} == {"PATH": "", "A": "2", "B": "blue x", "C": "1"}


def test_args_are_part_of_the_cache_key(backend: NamespaceBackend) -> None:
    text = f"{FROM}ARG V\nRUN echo $V > /v; : {time.time_ns()}\n"
    one, two = (build(text, backend, args={"V": value}) for value in ("1", "2"))
    assert one != two
    assert sh(backend, two, "cat /v") == "2\n"


@pytest.mark.usefixtures("id_range")
def test_copy(backend: NamespaceBackend, tmp_path: Path) -> None:
    (tmp_path / "app/pkg").mkdir(parents=True)
    (tmp_path / "app/pkg/m.py").write_text("m")
    (tmp_path / "app/run").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "app/run").chmod(0o755)
    (tmp_path / "app/link").symlink_to("pkg/m.py")
    (tmp_path / "skip.log").write_text("x")
    (tmp_path / ".dockerignore").write_text("*.log\n")
    image = made(
        backend,
        """
        WORKDIR /work
        COPY app .
        COPY --chown=nobody:games --chmod=640 app/run other/
        COPY app/pkg/*.py app/run /lib/many/
        """,
        tmp_path,
    )
    root = backend.store.manifest(image)
    assert sh(backend, image, "./run && cat link") == "ran\nm"
    other = root[b"work/other/run"]
    assert (other.mode, other.uid, other.gid) == (0o640, 65534, 60)
    assert root[b"usr/lib/many/m.py"].kind is Kind.FILE  # /lib is a link
    with pytest.raises(BuildError, match=r"line 2: COPY: source 'skip\.log' matches nothing"):
        made(backend, "COPY skip.log /\n", tmp_path)
    with pytest.raises(BuildError, match="out of the build context"):
        made(backend, "COPY ../x /\n", tmp_path)


def test_copied_bytes_are_part_of_the_cache_key(backend: NamespaceBackend, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1")
    text = f"{FROM}RUN : {time.time_ns()} > /f\nCOPY f /f\n"
    one = build(text, backend, context=tmp_path)
    assert build(text, backend, context=tmp_path) == one
    (tmp_path / "f").write_text("2")
    assert sh(backend, build(text, backend, context=tmp_path), "cat /f") == "2"


@pytest.mark.usefixtures("id_range")
def test_attributes_reach_the_layer(backend: NamespaceBackend) -> None:
    image = made(
        backend,
        """
        RUN apt-get update && apt-get install -y --no-install-recommends libcap2-bin
        RUN cp /bin/true /t && setcap cap_net_raw+ep /t && cp /bin/true /s && chmod 4750 /s \
            && chown 12:34 /s && chmod u+s /s && ln /s /s2 && mkfifo /p && touch -d @86400 /old
        """,
    )
    root = backend.store.manifest(image)
    assert root[b"t"].xattrs[0][0] == "security.capability"
    assert (root[b"s"].mode, root[b"s"].uid, root[b"s"].gid) == (0o4750, 12, 34)
    assert root[b"s2"] == root[b"s"] and root[b"p"].kind is Kind.FIFO
    assert "cap_net_raw=ep" in sh(backend, image, "getcap /t")
    assert sh(backend, image, "stat -c %Y /old") == "86400\n"


def test_deletions_and_replacements(backend: NamespaceBackend) -> None:
    image = made(
        backend,
        """
        RUN mkdir -p /d/e/f /g/h && touch /d/e/f/1 /d/2 /g/h/3 /g/4 && ln -s /d /link && touch /file
        RUN rm -r /d/e && rm /link && mkdir /link && touch /link/new \
            && rm -r /g && mkdir /g && touch /g/5 && rm /file && mkdir /file
        RUN rm -r /d && ln -s /g /d
        """,
    )
    listing = sh(backend, image, "cd /; find d/ g link file | sort")
    assert listing.split() == ["d/", "d/5", "file", "g", "g/5", "link", "link/new"]
    root = backend.store.manifest(image)
    assert sorted(p for p in root if p.startswith((b"d", b"g/")) and b"dev" not in p) == [
        b"d",
        b"g/5",
    ]


def test_unchanged_copy_ups_make_no_layer(backend: NamespaceBackend) -> None:
    assert new_layers(made(backend, "RUN chmod 644 /etc/passwd && touch /etc/group\n")) == 0


def test_nothing_of_this_machine_is_left(
    backend: NamespaceBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(b"site certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.setenv("PIP_INDEX_URL", "http://site-index.example/simple")
    monkeypatch.setenv("https_proxy", "http://site-proxy.example:3128")
    text = f"""{FROM}
RUN cmp $SSL_CERT_FILE $REQUESTS_CA_BUNDLE && grep -q 'site certificate' $SSL_CERT_FILE \\
    && test $PIP_INDEX_URL = http://site-index.example/simple && test -n "$https_proxy" \\
    && test -f $APT_CONFIG && touch {SITE}/mine $(dirname $APT_CONFIG)/sources.list
RUN test ! -e {SITE}/mine && rm -rf {SITE}; touch /marker-{time.time_ns()}
"""
    image = build(text, backend, use_cache=False)
    root = backend.store.manifest(image)
    assert not [path for path in root if path.startswith(SITE[1:].encode())]
    assert [name for name, _ in image.config.env] == ["PATH"]
    for layer in image.layers[1:]:
        assert b"site" not in backend.store.layers.manifest_text(layer)
    assert "site-" not in sh(backend, image, f"env; ls -a /; cat /etc/resolv.conf; ls {SITE} || :")


def test_apt_works_across_instructions_and_leaves_no_mirror(backend: NamespaceBackend) -> None:
    image = made(
        backend, "RUN apt-get update\nRUN apt-get install -y --no-install-recommends file\n"
    )

    hosts = {uri.split("/")[2] for uri in find_mirrors().uris.values()}
    pattern = "|".join(host.replace(".", "[._]") for host in hosts)
    found = sh(
        backend,
        image,
        f"find / -xdev -print | grep -E '{pattern}'; grep -rEl '{pattern}' /etc /var /root || :",
    )
    assert found == ""
    assert sh(backend, image, "file -b /dev/null").startswith("character special")


def test_failed_run_says_what_where_and_why(backend: NamespaceBackend) -> None:
    text = (
        FROM
        + "RUN true\n\nRUN echo before \\\n && printf 'bad\\033[31m\\n' && seq 5000 && exit 7\n"
    )
    with pytest.raises(BuildError, match=r"Dockerfile line 4: exit status 7: RUN echo") as caught:
        build(text, backend)
    error = caught.value
    assert (error.line, error.exit_code) == (4, 7)
    assert error.output.endswith("4999\n5000\n") and len(error.output) == OUTPUT_CHARACTERS
    assert "\n" not in str(error)


def test_output_cannot_drive_the_terminal(backend: NamespaceBackend) -> None:
    with pytest.raises(BuildError) as caught:
        build(FROM + "RUN printf 'a\\033[31mb\\377\\n'; exit 1\n", backend)
    assert caught.value.output == "a\ufffd[31mb\ufffd\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("COPY --chown=ghost <<E /x\n1\nE", "line 2: COPY: the image has no user 'ghost'"),
        ("COPY --chmod=u+x <<E /x\n1\nE", "line 2: COPY: --chmod=u"),
        ("ENV A=${B", "line 2: ENV: no closing brace"),
        ("WORKDIR /etc/passwd/x", "line 2: WORKDIR: /etc/passwd is not a folder"),
    ],
)
def test_bad_instructions_name_their_line(
    backend: NamespaceBackend, body: str, reason: str
) -> None:
    with pytest.raises(BuildError, match=reason):
        build(f"{FROM}{body}\n", backend)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('RUN ["/no/such", "x"]', "/no/such"),
        ('RUN ["nosuch"]', "nosuch"),
        ("USER ghost\nRUN true", "ghost"),
        ("WORKDIR /w\nRUN rmdir /w\nRUN true", "No such file"),
    ],
)
def test_a_run_that_cannot_start_says_why(
    backend: NamespaceBackend, body: str, reason: str
) -> None:
    with pytest.raises(BuildError, match=r"line [234]: exit status 12[67]: RUN") as caught:
        build(f"{FROM}{body}\n", backend)
    assert reason in caught.value.output


def test_unknown_base_image(backend: NamespaceBackend) -> None:
    with pytest.raises(ImageError, match="'nowhere:1' is not in the store"):
        build("FROM nowhere:1\n", backend)


def test_time_limit(backend: NamespaceBackend) -> None:
    started = time.monotonic()
    with pytest.raises(BuildError, match="line 2: no end within"):
        build(FROM + "RUN sleep 60\n", backend, timeout_s=1)
    assert time.monotonic() - started < 20


def test_from_scratch_takes_files(backend: NamespaceBackend) -> None:
    image = build("FROM scratch\nCOPY <<E /etc/x\nhi\nE\n", backend)
    assert sorted(backend.store.manifest(image)) == [b"etc", b"etc/x"]


def test_two_builds_at_once_run_each_step_once(backend: NamespaceBackend) -> None:
    text = f"{FROM}RUN sleep 1; cat /proc/sys/kernel/random/uuid > /u; : {time.time_ns()}\n"
    images: list[Image] = []
    threads = [
        threading.Thread(target=lambda: images.append(build(text, backend))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(images) == 3 and len(set(images)) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_interrupted_build_leaves_a_store_that_works(
    backend: NamespaceBackend, store_home: Path, tmp_path: Path, how: signal.Signals
) -> None:
    text = f"{FROM}RUN : {time.time_ns()}; head -c 9000000 /dev/urandom > /big; {{hold}}\n"
    held = text.format(hold="echo; sleep 600")
    script = tmp_path / "child.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from cligym.sandboxes.build import build\n"
        "from cligym.sandboxes.namespace import NamespaceBackend\n"
        f"backend = NamespaceBackend(home=Path({str(store_home)!r}))\n"
        f"build({held!r}, backend, progress=lambda e: print(e.state, flush=True))\n"
    )
    child = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    while "done" not in child.stdout.readline():  # FROM is done, then RUN starts
        pass
    child.stdout.readline()
    time.sleep(1)
    child.send_signal(how)
    child.wait(timeout=30)
    child.stdout.close()
    image = build(text.format(hold="true"), backend)
    assert new_layers(image) == 1
    for folder in (backend.store.root / "layers").iterdir():
        if folder.name.startswith("."):  # another run on this store may be at work
            lock = try_file_lock(folder / "lock")
            assert lock is None, folder
        else:
            assert (folder / "manifest.json").exists(), folder
