# shellcheck shell=bash disable=SC2016
# What ./check and ./demo need of the system, and how it gets there. Sourced, not run.
#
# gangway_setup GROUP... looks for everything in the table below that is in one of the groups, says
# what is missing and why it is wanted, and installs that with apt (through sudo when not root).
# Where nothing is missing it calls nothing but the probes: no network, no apt, no root.

# package (of several the first that this distribution has) | group | probe | why
#   cmd:NAME   a program        pc:NAME[,NAME]  a pkg-config module, under any of these names
#   file:PATH  a file           py:NAME         a module of Python 3     format: clang-format 14
GANGWAY_PACKAGES='
gcc                            |build|cmd:cc                    |compiles the sources
libc6-dev                      |build|file:/usr/include/stdio.h |headers of the C library
cmake                          |build|cmd:cmake                 |configures the build
ninja-build                    |build|cmd:ninja                 |runs the build
pkg-config                     |build|cmd:pkg-config            |finds the libraries below
libuv1-dev                     |build|pc:libuv                  |event loop, timers, sockets
libmsgpack-c-dev/libmsgpack-dev|build|pc:msgpack-c,msgpack      |values and messages
libjansson-dev                 |build|pc:jansson                |JSON of commands and reports
libmicrohttpd-dev              |build|pc:libmicrohttpd          |the rendezvous of Horovod scripts
libconfig-dev                  |build|pc:libconfig            |the configuration file of daemons
libsqlite3-dev                 |build|pc:sqlite3                |what outlives the scheduler
libssl-dev                     |build|pc:libcrypto              |SHA-256 of shipped programs
libcurl4-openssl-dev           |build|pc:libcurl                |requests to MLflow; data sets
ca-certificates                |build|file:/etc/ca-certificates.conf|certificates of https servers
zlib1g-dev                     |build|pc:zlib                   |the examples read .gz files
libopenblas-dev                |build|pc:openblas               |matrix products of the examples
libcmocka-dev                  |test |pc:cmocka                 |unit tests
python3                        |test |cmd:python3               |style, layer and end-to-end tests
g++                            |test |cmd:c++                   |the headers in a C++ program
make                           |test |cmd:make                  |builds a new project in a test
git                            |test |cmd:git                   |what --ship leaves out, in a test
valgrind                       |test |cmd:valgrind              |counts instructions a task
abigail-tools                  |all  |cmd:abidiff               |compares interfaces of the library
doxygen                        |all  |cmd:doxygen               |pages of the C API
clang-format-14                |tidy |format:                   |checks the format of the sources
python3-torch                  |full |py:torch                  |a gang of PyTorch, in a test
libtorch-dev                   |full |file:/usr/include/torch    |compiles Horovod, for a test
pybind11-dev                   |full |file:/usr/include/pybind11 |the same
python3-dev                    |full |pc:python3                |the same
python3-venv                   |full |py:ensurepip              |the same
python3-setuptools             |full |py:setuptools             |the same
python3-wheel                  |full |py:wheel                  |the same
python3-cffi                   |full |py:cffi                   |the same
python3-cloudpickle            |full |py:cloudpickle            |a gang of Horovod, in a test
python3-packaging              |full |py:packaging              |the same
python3-psutil                 |full |py:psutil                 |the same
python3-yaml                   |full |py:yaml                   |the same
debootstrap                    |full |cmd:debootstrap           |a bare Debian, to try ./demo in
'

gangway_probe()
{
    local kind=${1%%:*} what=${1#*:} name
    case $kind in
    cmd) command -v "$what" >/dev/null ;;
    file) [ -e "$what" ] ;;
    py) /usr/bin/python3 -c "import $what" >/dev/null 2>&1 ;; # where Debian's modules are
    format)
        command -v clang-format-14 >/dev/null ||
            clang-format --version 2>/dev/null | grep -q 'version 14\.'
        ;;
    pc)
        command -v pkg-config >/dev/null || return 1
        for name in ${what//,/ }; do
            pkg-config --exists "$name" && return 0
        done
        return 1
        ;;
    esac
}

# gangway_as_root CMD...: runs it as root. Fails where that is not possible.
gangway_as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# gangway_install PACKAGES GROUPS: two arrays by name, as gangway_setup found them.
gangway_install()
{
    local -n _packages=$1 _groups=$2
    local i name found install=() line='' # with names that this distribution has
    for i in "${!_packages[@]}"; do
        found=${_packages[i]%%/*}
        for name in ${_packages[i]//\// }; do
            [ -z "$(apt-cache show "$name" 2>/dev/null)" ] || { found=$name && break; }
        done
        line+=${line:+ }$found
    done
    if ! command -v apt-get >/dev/null; then
        echo "error: no apt-get here: install these by your system's own means: $line" >&2
        return 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "error: not root and no sudo here; as root: apt-get install $line" >&2
        return 1
    fi
    echo "setup: apt-get update, apt-get install"
    gangway_as_root apt-get update -q >/dev/null ||
        echo "setup: apt-get update failed; trying with the lists that are there" >&2
    for i in "${!_packages[@]}"; do
        found=
        for name in ${_packages[i]//\// }; do
            [ -z "$(apt-cache show "$name" 2>/dev/null)" ] || { found=$name && break; }
        done
        if [ -n "$found" ]; then
            install+=("$found")
        elif [ "${_groups[i]}" = tidy ]; then
            echo "setup: no ${_packages[i]} in this distribution: formats go unchecked"
        else
            echo "error: this distribution has no ${_packages[i]}" >&2
            return 1
        fi
    done
    [ "${#install[@]}" -gt 0 ] || return 0
    gangway_as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${install[@]}" >/dev/null || {
        echo "error: apt-get could not install: ${install[*]}" >&2
        return 1
    }
}

# gangway_setup GROUP...: installs what is missing of these groups; 0 when all of it is there then.
gangway_setup()
{
    local package group probe why bad=0 i
    local packages=() groups=() probes=()
    while IFS='|' read -r package group probe why; do
        [ -n "$package" ] || continue
        package=${package%% *} group=${group%% *} probe=${probe%% *}
        [[ " $* " == *" $group "* ]] || continue
        gangway_probe "$probe" && continue
        echo "setup: ${package//\// or } is missing: $why"
        packages+=("$package") groups+=("$group") probes+=("$probe")
    done <<<"$GANGWAY_PACKAGES"
    [ "${#packages[@]}" -gt 0 ] || return 0
    gangway_install packages groups || return 1
    for i in "${!packages[@]}"; do
        if [ "${groups[i]}" != tidy ] && ! gangway_probe "${probes[i]}"; then
            echo "error: ${packages[i]} is installed, and yet ${probes[i]} is not found" >&2
            bad=1
        fi
    done
    return $bad
}

# gangway_build PRESET [TARGET...]: configures and builds; what the tools say lies in
# build/PRESET/build.log and is shown where they fail.
gangway_build()
{
    local preset=$1 log=build/$1/build.log targets=()
    shift
    [ $# = 0 ] || targets=(--target "$@")
    mkdir -p "build/$preset"
    if command -v ccache >/dev/null; then
        export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
    fi
    if ! { cmake --preset "$preset" &&
        cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"; } >"$log" 2>&1; then
        grep -nE 'error|FAILED|CMake Error' "$log" | head -n 20 >&2
        tail -n 40 "$log" >&2
        echo "error: the build failed; all of it: $log" >&2
        return 1
    fi
    if grep -q 'warning:' "$log"; then
        echo "build: $(grep -c 'warning:' "$log") warnings, in $log"
    fi
}
