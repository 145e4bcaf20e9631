#!/usr/bin/env bash
# Draws a flame graph from `perf record --call-graph dwarf`: an SVG file for browsers, which shows the share of each function
# at the pointer. Functions below half a percent are omitted.
#
#     perf record -F 997 --call-graph dwarf,32768 -p PID -- sleep 5
#     benches/flame.sh perf.data "one object" hyper::server::conn::http1::Connection::poll > docs/one-object.svg
#
# Callers of the third argument are omitted, because perf truncates deep stacks.
set -euo pipefail
data=${1:?usage: flame.sh PERF.DATA TITLE [ROOT]}
title=${2:?usage: flame.sh PERF.DATA TITLE [ROOT]}
root=${3:-}

# One line for each sample: functions from the outermost to the innermost.
stacks() {
    perf script --no-inline -i "$data" -F ip,sym 2>/dev/null | awk -v root="$root" '
        function cut(stack,   at) {
            at = root == "" ? 0 : index(stack, root)
            return at ? substr(stack, at) : stack
        }
        function name(text) {
            sub(/^[ \t]*[0-9a-f]+ /, "", text)
            sub(/::h[0-9a-f]+$/, "", text)
            sub(/\+0x[0-9a-f]+$/, "", text)
            sub(/\.(llvm|isra|constprop|part|cold)[.0-9]*.*$/, "", text)
            # `<a::B<X> as c::D>::e` is `a::B::e`, without generic arguments.
            if (text ~ /^</) {
                depth = 0; end = 0; as = 0
                for (at = 1; at <= length(text) && !end; at++) {
                    c = substr(text, at, 1)
                    if (c == "<") depth++
                    else if (c == ">" && substr(text, at - 1, 1) != "-" && --depth == 0) end = at
                    else if (depth == 1 && !as && substr(text, at, 4) == " as ") as = at
                }
                text = substr(text, 2, (as ? as : end) - 2) substr(text, end + 1)
            }
            while (gsub(/<[^<>]*>/, "", text)) { }
            gsub(/[<>&;]/, "", text)
            return text
        }
        NF == 0 { if (stack != "") print cut(stack); stack = ""; next }
        { frame = name($0); if (frame !~ /^\[|^$/) stack = frame (stack == "" ? "" : ";" stack) }
        END { if (stack != "") print cut(stack) }'
}

stacks | sort | awk -v title="$title" '
    function close_from(depth,   at) {
        for (at = open; at >= depth; at--) {
            if (NR_all - from[at] > 0) { n++; label[n] = frame[at]; left[n] = from[at]; width[n] = NR_all - from[at]; row[n] = at }
        }
        open = depth - 1
    }
    {
        count = split($0, parts, ";")
        same = 0
        while (same < open && same < count && parts[same + 1] == frame[same + 1]) same++
        close_from(same + 1)
        for (at = same + 1; at <= count; at++) { frame[at] = parts[at]; from[at] = NR_all + 0 }
        open = count
        NR_all++
    }
    END {
        close_from(1)
        for (i = 1; i <= n; i++) if (width[i] / NR_all >= 0.005 && row[i] > deepest) deepest = row[i]
        height = (deepest + 2) * 17
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 %d\" font-family=\"sans-serif\" font-size=\"11\">\n", height
        print "<style>.t{fill:#1f2328}.page{fill:#fff}rect{stroke:#fff;stroke-width:.5}.o{fill:#8cb4e8}.k{fill:#c3c9d1}.l{fill:#f0c48a}"
        print "@media(prefers-color-scheme:dark){.t{fill:#e6edf3}.page{fill:#0d1117}rect{stroke:#0d1117}}</style>"
        printf "<rect class=\"page\" width=\"1000\" height=\"%d\"/><text class=\"t\" x=\"4\" y=\"13\">%s: %d samples; blue is ours, orange libraries, grey the kernel</text>\n", height, title, NR_all
        for (i = 1; i <= n; i++) {
            share = width[i] / NR_all
            if (share < 0.005) continue
            x = left[i] / NR_all * 1000; w = share * 1000; y = height - row[i] * 17
            text = label[i]; class = text ~ /pointsman/ ? "o" : (text ~ /::/ || text ~ /^(mem|malloc|_int|cfree|free|aws_lc|realloc)/ ? "l" : "k")
            shown = text; sub(/^.*pointsman_/, "", shown); sub(/^[a-z]+::([a-z_0-9]+::)*/, "", shown)
            fits = int(w / 6); if (length(shown) > fits) shown = fits > 3 ? substr(shown, 1, fits - 1) "…" : ""
            printf "<g><title>%s, %.1f %%</title><rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"16\"/>", text, share * 100, class, x, y, w
            if (shown != "") printf "<text x=\"%.1f\" y=\"%d\">%s</text>", x + 3, y + 12, shown
            print "</g>"
        }
        print "</svg>"
    }'
