# SPDX-License-Identifier: Apache-2.0
# A memory trace in which a sixty-fourth of the bytes goes over a link that is slow: each texture has an eighth of its width and of its
# height. Which ones there are, who draws with them and in what order stays.
function part(whole, of) {
    return whole < of ? 1 : int(whole / of)
}

$1 == "a" {
    $3 = part($3, 64)
    if ($4 == "texture") {
        split($5, side, "x")
        $5 = part(side[1], 8) "x" part(side[2], 8)
    }
}

$1 == "w" {
    $3 = int($3 / 64)
    $4 = part($4, 64)
}

{ print }
