<?php

declare(strict_types=1);

namespace Countersign;

/** Texts of others as people see them, marked like those of the ledger's own cards. */
final class Visible
{
    /**
     * Control and format characters, those of no width or no ink, unusual spaces, private and unassigned ones, and the first character of
     * a mark. Then 8 or more spaces, behind which a text is easily missed. The ignorable ones of Unicode by number: older PCREs have no name for them.
     */
    private const UNSEEN = ' {8,}|[\p{C}\p{Zl}\p{Zp}\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}'
        . '\x{FE00}-\x{FE0F}\x{FFA0}\x{FFFC}\x{1D159}\x{E0000}-\x{E0FFF}\x{27E6}]|(?! )\p{Zs}';

    /** Returns a text as one line: more lines would look like those of the ledger. Look-alikes of ASCII are marked as well. */
    public static function line(string $text): string
    {
        $posing = LookAlikes::in($text);
        // A look-alike that does not pose stays.
        $shown = fn (array $found) => ($found['one'][1] ?? -1) < 0 || isset($posing[$found[0][1]]) ? self::mark($found[0][0]) : $found[0][0];
        $either = '/' . self::UNSEEN . '|(?<one>' . LookAlikes::ANY . ')/u';
        return preg_replace_callback($either, $shown, $text, flags: PREG_OFFSET_CAPTURE) ?? self::mark('');
    }

    /**
     * Returns a foreign name inside a line of ours: in quotes where it could be read as a part of that line, such as that of an agent that calls
     * itself `a, Approved by alice`.
     */
    public static function name(string $name): string
    {
        // Signs inside of words, such as an apostrophe, part nothing.
        $parts = '/^$|[\s,;"()›]|(?![\x20-\x7e\x{b7}\x{55a}\x{5f3}\x{5f4}\x{2019}\x{2027}\x{30fb}])[\p{Po}\p{Ps}\p{Pe}\p{Pi}\p{Pf}]/u';
        return preg_match($parts, $name) === 1 ? Json::encode($name) : $name;
    }

    private static function mark(string $unseen): string
    {
        return match (true) {
            // It is no UTF-8.
            $unseen === '' => '⟦text that cannot be shown⟧',
            $unseen[0] === ' ' => '⟦' . strlen($unseen) . ' spaces⟧',
            default => sprintf('⟦U+%04X⟧', self::codePoint($unseen)),
        };
    }

    /** Without mbstring, which not every PHP has. */
    private static function codePoint(string $character): int
    {
        $first = ord($character[0]);
        $length = strlen($character);
        $point = $length === 1 ? $first : $first & (0x7F >> $length);
        foreach (str_split(substr($character, 1)) as $byte) {
            $point = $byte === '' ? $point : ($point << 6) | (ord($byte) & 0x3F);
        }
        return $point;
    }
}
