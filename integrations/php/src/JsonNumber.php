<?php

declare(strict_types=1);

namespace Countersign;

use InvalidArgumentException;

/** The texts of a float. */
final class JsonNumber
{
    /** Returns the text of ECMAScript, which RFC 8785 prescribes. */
    public static function canonical(float $value): string
    {
        if ($value == 0.0) {
            return '0';
        }
        [$sign, $digits, $point] = self::parts($value);
        $count = strlen($digits);
        return $sign . match (true) {
            $point > 21 || $point < -5 => self::withExponent($digits, $point),
            $point >= $count => str_pad($digits, $point, '0'),
            $point > 0 => substr($digits, 0, $point) . '.' . substr($digits, $point),
            default => '0.' . str_repeat('0', -$point) . $digits,
        };
    }

    /** Returns a text with an exponent where the ledger would take the digits alone for an integer that was rounded on its way. */
    public static function exact(float $value): string
    {
        if (is_finite($value) && abs($value) > Json::INTEGER_MAX) {
            [$sign, $digits, $point] = self::parts($value);
            return $sign . self::withExponent($digits, $point);
        }
        return self::canonical($value);
    }

    /**
     * Attack: an id of 19 digits is rounded on its way, and people approve another row than the one that the model named.
     *
     * @throws InvalidArgumentException for the first number in a JSON text that a double does not hold
     */
    public static function requireExact(string $json): void
    {
        $withoutStrings = preg_replace('/"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"/s', '""', $json)
            ?? throw new InvalidArgumentException('The text is too large to look for numbers in it.');
        preg_match_all('/-?\d[\d.eE+-]*/', $withoutStrings, $found);
        foreach ($found[0] as $text) {
            if (!self::isExact($text)) {
                throw new InvalidArgumentException("The number $text is more than a double holds. Pass it as a string.");
            }
        }
    }

    private static function isExact(string $text): bool
    {
        [$mantissa] = explode('e', strtolower($text));
        $digits = rtrim(ltrim(str_replace(['-', '.'], '', $mantissa), '0'), '0');
        $value = (float) $text;
        if ($digits === '') {
            return true;
        }
        if (strlen($digits) > 17 || !is_finite($value) || $value == 0.0) {
            return false;
        }
        // A program on the way may have rounded an integer. A point or an exponent says that it is a double.
        if (strpbrk($text, '.eE') === false && abs($value) > Json::INTEGER_MAX) {
            return false;
        }
        [$read] = explode('e', sprintf('%.' . (strlen($digits) - 1) . 'e', abs($value)));
        return preg_replace('/\D/', '', $read) === $digits;
    }

    /** @return array{string, string, int} the sign, the shortest digits, and the place of the point in them */
    private static function parts(float $value): array
    {
        if (!is_finite($value)) {
            throw new InvalidArgumentException("JSON has no number for $value.");
        }
        // Precision -1 gives the shortest digits, and `H` knows no locale.
        preg_match('/^(-?)(\d+)(?:\.(\d+))?(?:E([+-]\d+))?$/', sprintf('%.*H', -1, $value), $found);
        $whole = $found[2];
        $all = $whole . ($found[3] ?? '');
        $point = strlen($whole) + (int) ($found[4] ?? 0);
        $digits = ltrim($all, '0');
        return [$found[1], rtrim($digits, '0'), $point - (strlen($all) - strlen($digits))];
    }

    private static function withExponent(string $digits, int $point): string
    {
        $exponent = $point - 1;
        $fraction = strlen($digits) > 1 ? '.' . substr($digits, 1) : '';
        return $digits[0] . $fraction . 'e' . ($exponent < 0 ? '-' : '+') . abs($exponent);
    }
}
