#!/usr/bin/env bash
# Steps of a VibeVoice on a GPU, also on a machine without network and with an older transformers.
#
#   benchmarks/gpu.sh prepare FOLDER [PYTHON_VERSION]   where there is a network: fetch what is needed, as wheels
#   benchmarks/gpu.sh run FOLDER OUT [OPTION ...]       where there is a GPU: measure, at most 8 minutes
#
# PYTHON_VERSION is that of the machine with the GPU, such as 3.12 (default: this machine's); its processor must be
# of the same kind as this one's. FOLDER holds at most 64 MiB and goes along with the checkout. torch is taken as it
# is there, since no other would match the driver, and numpy if it is there.
# OUT gets reports as text and JSON: first of a tiny model, which must write the same tokens however it is decoded,
# then of one of the size of the 7B. With OPTIONs there is one report, of gpu_steps.py with these options.
# PYTHON: which python3 to use.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
most_kib=$((64 * 1024))
limit_s=480

fail() { printf 'gpu.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n 's/^# \{0,1\}//; 3,5p' "${BASH_SOURCE[0]}" >&2; exit 2; }
version() { "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

prepare() {
    local folder=$1 wanted=${2:-$(version)} requirement kib
    requirement=$(sed -n 's/^ *"\(transformers[^"]*\)",$/\1/p' "$here/../pyproject.toml")
    [[ -n $requirement ]] || fail "pyproject.toml does not say which transformers is needed"
    mkdir -p "$folder"
    rm -f "$folder"/*.whl "$folder/python" "$folder/commit"
    local platforms=()
    for glibc in 2_28 2_27 2_24 2_17 2_12 2_5; do platforms+=(--platform "manylinux_${glibc}_$(uname -m)"); done
    for name in 2014 2010 1; do platforms+=(--platform "manylinux${name}_$(uname -m)"); done
    "$python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --implementation cp \
        --python-version "$wanted" "${platforms[@]}" --dest "$folder" "$requirement" \
        || fail "pip could not fetch $requirement for Python $wanted"
    printf '%s\n' "$wanted" >"$folder/python"
    git -C "$here" describe --always --dirty --abbrev=40 >"$folder/commit" 2>/dev/null || echo none >"$folder/commit"
    kib=$(du -sk "$folder" | cut -f1)
    ((kib <= most_kib)) || fail "$folder holds $((kib / 1024)) MiB, more than $((most_kib / 1024))"
    printf 'gpu.sh: %s holds %d MiB for Python %s\n' "$folder" $((kib / 1024)) "$wanted" >&2
}

# Unpack the wheels into a folder; numpy only if there is none.
unpack() {
    local folder=$1 site=$2 wheel wheels=()
    for wheel in "$folder"/*.whl; do
        [[ ${wheel##*/} == numpy-* ]] && "$python" -c 'import numpy' 2>/dev/null && continue
        wheels+=("$wheel")
    done
    "$python" -c 'import sys, zipfile
for wheel in sys.argv[2:]: zipfile.ZipFile(wheel).extractall(sys.argv[1])' "$site" "${wheels[@]}" \
        || fail "the wheels in $folder cannot be unpacked: prepare it again"
}

run() {
    local folder=$1 out=$2 status=0
    shift 2
    [[ -f $folder/python ]] || fail "$folder was not prepared: run gpu.sh prepare $folder where there is a network"
    command -v "$python" >/dev/null || fail "there is no $python: set PYTHON"
    [[ $(version) == "$(<"$folder/python")" ]] \
        || fail "$folder was prepared for Python $(<"$folder/python"), but $python is $(version)"
    mkdir -p "$out"
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    unpack "$folder" "$site"
    export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
    rm -f "$out"/gpu_*.{json,txt,log}
    if (($#)); then
        measure steps $((limit_s - SECONDS - 10)) "$@"
        return
    fi
    measure tiny 120 --shape tiny --device cuda --runs 1 || status=$?
    [[ -f $out/gpu_tiny.json ]] || return "$status" # nothing works
    measure 7b $((limit_s - SECONDS - 10)) || status=$?
    return "$status"
}

# measure NAME SECONDS [OPTION ...]: make one report; it is stopped if it hangs. Uses $folder and $out.
measure() {
    local name=$1 seconds=$2 status=0
    shift 2
    timeout --kill-after=5 "$seconds" "$python" "$here/gpu_steps.py" --seconds $((seconds * 3 / 4)) \
        --commit "$(<"$folder/commit") (when gpu.sh prepared)" --json "$out/gpu_$name.json" "$@" \
        | tee "$out/gpu_$name.txt" || status=$?
    ((status != 124)) || printf 'gpu.sh: stopped after %d s\n' "$seconds" >&2
    return "$status"
}

case ${1:-} in
    prepare) (($# == 2 || $# == 3)) || usage; prepare "${@:2}" ;;
    run) (($# >= 3)) || usage; run "${@:2}" ;;
    *) usage ;;
esac
