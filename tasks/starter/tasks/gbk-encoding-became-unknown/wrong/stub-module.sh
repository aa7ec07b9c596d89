#!/bin/bash
# A codec of that name which only hands bytes through.
cat > /usr/lib/python3.11/encodings/gbk.py <<'EOF'
import codecs


def getregentry():
    plain = codecs.lookup("latin-1")
    return codecs.CodecInfo(
        name="gbk",
        encode=plain.encode,
        decode=plain.decode,
        incrementalencoder=plain.incrementalencoder,
        incrementaldecoder=plain.incrementaldecoder,
        streamreader=plain.streamreader,
        streamwriter=plain.streamwriter,
    )
EOF
