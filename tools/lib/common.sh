# Shared by the commands of tools/: messages, and what they need from Debian.
# Sourced, never run; it must not change directory or environment by itself.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the lists are used by those who source this

BUILD_PACKAGES=(build-essential cmake ninja-build pkg-config libevent-dev libsqlite3-dev
    libjansson-dev libssl-dev libyaml-dev libcrypt-dev)
LINT_PACKAGES=(clang-format-14 universal-ctags python3 binutils)
TEST_PACKAGES=(chromium clang curl faketime golang-go haproxy libclang-rt-14-dev libcmocka-dev nginx-light
    python3-requests python3-stripe spin valgrind wget)
# The first libevent of Debian 12 whose HTTP fixes the operator plane relies on.
LIBEVENT_MIN="2.1.12-stable-8+deb12u1"
LIBEVENT_PACKAGES=(libevent-dev libevent-core-2.1-7 libevent-extra-2.1-7)

say() {
    printf '%s: %s\n' "${0##*/}" "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

has_package() {
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

apt_updated=no
apt_install() {
    [[ "$(id -u)" == 0 ]] || die "these packages are missing: $*. Run as root, or: apt-get install --no-install-recommends $*"
    if [[ "$apt_updated" == no ]]; then
        say "apt-get update"
        apt-get update -qq || die "apt-get update failed: is a package mirror reachable?"
        apt_updated=yes
    fi
    say "installing: $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null \
        || die "apt-get could not install: $*"
}

# need_packages NAME...: installs what is missing, all in one go.
need_packages() {
    local name missing=()
    command -v dpkg-query >/dev/null \
        || die "this is not Debian: install what corresponds to $* and build with 'cmake --preset release && cmake --build --preset release'"
    for name in "$@"; do
        has_package "$name" || missing+=("$name")
    done
    if ((${#missing[@]} > 0)); then
        apt_install "${missing[@]}"
    fi
}

# need_command COMMAND PACKAGE...: installs the packages only when the command is absent.
need_command() {
    local command="$1"
    shift
    command -v "$command" >/dev/null || apt_install "$@"
}

# Prints the path of promtool, taken out of Debian's package without installing the server and
# the service that come with it. Nothing when it cannot be had: the tests of the alarms say so.
find_promtool() {
    local root="$1" where
    command -v promtool && return
    where="$root/build/promtool"
    if [[ ! -x "$where/usr/bin/promtool" ]]; then
        mkdir -p "$where"
        (cd "$where" && apt-get download -qq prometheus && dpkg -x prometheus_*.deb .) >/dev/null 2>&1 \
            || return 0
    fi
    printf '%s\n' "$where/usr/bin/promtool"
}

libevent_too_old() {
    local name version
    for name in "${LIBEVENT_PACKAGES[@]}"; do
        has_package "$name" || continue
        version="$(dpkg-query -W -f='${Version}' "$name")"
        if dpkg --compare-versions "$version" lt "$LIBEVENT_MIN"; then
            printf '%s %s\n' "$name" "$version"
            return 0
        fi
    done
    return 1
}

# The package is looked at, not the library: Debian's fixes do not change its number.
check_libevent() {
    local old
    if old="$(libevent_too_old)"; then
        [[ "$(id -u)" == 0 ]] \
            || die "$old is older than $LIBEVENT_MIN, which has security fixes: apt-get update && apt-get install --only-upgrade ${LIBEVENT_PACKAGES[*]}"
        apt_install --only-upgrade "${LIBEVENT_PACKAGES[@]}"
        if old="$(libevent_too_old)"; then
            die "$old is older than $LIBEVENT_MIN, and the package mirror has nothing newer: enable bookworm-security"
        fi
    fi
}

# configure_and_build PRESET [CMAKE ARGUMENT...]
configure_and_build() {
    local preset="$1"
    shift
    say "configuring build/$preset"
    cmake --preset "$preset" -G Ninja --log-level=WARNING "$@" || die "cmake could not configure build/$preset"
    say "building build/$preset"
    cmake --build "build/$preset" -j "$(nproc)" || die "build/$preset does not build"
}
