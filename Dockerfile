# syntax=docker/dockerfile:1
# One static binary in an empty image: no shell, no packages, no libc, no root.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --provenance=true \
#     --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" \
#     --tag registry.example/pointsman:0.1.0 --push .
#
# docs/install.md explains the use. tests/it/chart compares this file with the rest of the repository.

# A scan of the image would find only one binary. Cargo.lock in the build context has the components.
ARG BUILDKIT_SBOM_SCAN_CONTEXT=true

# The compiler runs on the platform of the builder. An emulated compiler would take an hour.
FROM --platform=$BUILDPLATFORM rust:1.95-bookworm AS build
ARG TARGETARCH
# aws-lc is C code, so the other architecture needs its compiler and C library.
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
# For `--version`, because the build context has no git.
ARG REVISION=unknown
ENV POINTSMAN_COMMIT=$REVISION
WORKDIR /pointsman
COPY . .
# Statically linked glibc resolves names by /etc/hosts and DNS, which it includes since 2.34. A Pod needs no other source.
# With `--target`, the flags do not apply to build scripts and procedural macros. Kernels for arm64 may have pages of
# 64 KiB, which jemalloc must be configured for.
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
# The list of all crates.
COPY --from=build /pointsman.cdx.json /pointsman.cdx.json
COPY LICENSE /LICENSE
# Numeric, because runAsNonRoot requires it.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/pointsman"]
