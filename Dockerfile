# syntax=docker/dockerfile:1
# One static binary on nothing: no shell, no package, no libc, no root.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --provenance=true \
#     --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" \
#     --tag registry.example/pointsman:0.1.0 --push .
#
# docs/install.md says more. tests/it/chart holds this file against the rest of the repository.

# A scan of the image alone would find one binary: what it is made of is in Cargo.lock.
ARG BUILDKIT_SBOM_SCAN_CONTEXT=true

# The compiler runs on the machine that builds, whatever it builds for: emulated, it would take an hour.
FROM --platform=$BUILDPLATFORM rust:1.95-bookworm AS build
ARG TARGETARCH
# aws-lc is C: for the other architecture it takes that one's compiler and C library.
RUN case "$TARGETARCH" in \
      amd64) cpu=x86_64 ;; \
      arm64) cpu=aarch64 ;; \
      *) echo "no image for $TARGETARCH" >&2; exit 1 ;; \
    esac \
    && if [ "$TARGETARCH" != "$(dpkg --print-architecture)" ]; then \
      apt-get update \
      && apt-get install --yes --no-install-recommends \
        "gcc-$(echo $cpu | tr _ -)-linux-gnu" "libc6-dev-$TARGETARCH-cross"; \
    fi \
    && rustup target add "$cpu-unknown-linux-gnu" \
    && echo "$cpu" >/cpu
# `--version` prints it. The context of a build has no git.
ARG REVISION=unknown
ENV POINTSMAN_COMMIT=$REVISION
WORKDIR /pointsman
COPY . .
# glibc, linked statically, resolves names by /etc/hosts and DNS, which are built in since 2.34, and by nothing else, which
# is what a Pod has. `--target` keeps the flag from build scripts and procedural macros. The allocator, jemalloc, has to be
# told of the pages of 64 KiB that kernels for arm64 may have.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,id=target-$TARGETARCH,target=/pointsman/target \
    cpu=$(cat /cpu) && triple="$cpu-unknown-linux-gnu" && compiler="$cpu-linux-gnu-gcc" \
    && if [ "$cpu" = aarch64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi \
    && export "CC_${cpu}_unknown_linux_gnu=$compiler" \
    && export "CARGO_TARGET_$(echo "$triple" | tr a-z- A-Z_)_LINKER=$compiler" \
    && RUSTFLAGS="$(.ci/release --flags)" CFLAGS="$(.ci/release --cflags)" \
      cargo build --profile dist --locked --bin pointsman --target "$triple" \
    && cp "target/$triple/dist/pointsman" /pointsman.static \
    && .ci/sbom "$triple" >/pointsman.cdx.json

FROM scratch
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="pointsman" \
      org.opencontainers.image.description="Converts, validates and stamps Kubernetes custom resources while their API and controller change" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /pointsman.static /pointsman
# What it is made of, crate by crate.
COPY --from=build /pointsman.cdx.json /pointsman.cdx.json
COPY LICENSE /LICENSE
# By number, as runAsNonRoot asks for.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/pointsman"]
