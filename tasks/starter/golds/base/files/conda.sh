# A small stand-in for conda's shell functions, written for cligym's starter tasks. This is not conda:
# it knows `activate`, `deactivate`, `env list`, `info` and `run`, and one environment, `testbed`.

_conda_hooks() {
    local hook
    for hook in "$CONDA_PREFIX/etc/conda/$1.d"/*.sh; do
        if [ -r "$hook" ]; then . "$hook"; fi
    done
}

_conda_leave() {
    if [ -z "${CONDA_PREFIX:-}" ]; then return 0; fi
    _conda_hooks deactivate
    PATH="${PATH#"$CONDA_PREFIX/bin:"}"
    unset CONDA_PREFIX CONDA_DEFAULT_ENV
}

conda() {
    case "${1:-}" in
    activate)
        local prefix=/opt/miniconda3
        case "${2:-base}" in
        base) ;;
        /*) prefix="$2" ;;
        *) prefix="/opt/miniconda3/envs/$2" ;;
        esac
        if [ ! -d "$prefix" ]; then
            echo "conda (stand-in): there is no environment '$2'" >&2
            return 1
        fi
        _conda_leave
        export CONDA_PREFIX="$prefix" CONDA_DEFAULT_ENV="${2:-base}" PATH="$prefix/bin:$PATH"
        _conda_hooks activate
        ;;
    deactivate) _conda_leave ;;
    *) /opt/miniconda3/bin/conda "$@" ;;
    esac
}
