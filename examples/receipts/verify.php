<?php
// Checks receipts of Countersign with the sodium extension of PHP. Reads one JSON object a line from stdin, prints `valid` or why it is refused.
//     php verify.php < calls.ndjson
declare(strict_types=1);

/** Returns `valid` once for each claim, or a code. `$keys`: the member `keys` of the key set. `$used`: the jtis so far. */
function verify_receipt(string $receipt, mixed $arguments, array $trust, array &$used): string
{
    $parts = explode('.', $receipt);
    if (count($parts) !== 3) {
        return 'malformed-receipt';
    }
    [$header, $claims, $signature] = [read_part($parts[0]), read_part($parts[1]), decode($parts[2])];
    if ($header === null || $claims === null || strlen($signature) !== SODIUM_CRYPTO_SIGN_BYTES) {
        return 'malformed-receipt';
    }
    $names = array_keys($header);
    sort($names);
    if ($names !== ['alg', 'kid', 'typ'] || $header['alg'] !== 'EdDSA' || $header['typ'] !== 'countersign-receipt+jwt') {
        return 'malformed-receipt';
    }
    $key = null;
    foreach ($trust['keys'] as $one) {
        if ($one['kid'] === $header['kid'] && ($one['crv'] ?? '') === 'Ed25519') {
            $key = decode($one['x']);
        }
    }
    if ($key === null) {
        return 'unknown-key';
    }
    if (!sodium_crypto_sign_verify_detached($signature, "$parts[0].$parts[1]", $key)) {
        return 'bad-signature';
    }
    // A claim that is older than a day does not run: until then its use must be remembered.
    $isOver = $trust['now'] >= $claims['exp'] || $trust['now'] >= $claims['iat'] + 86400;
    $form = canonical((object) ['arguments' => $arguments, 'nonce' => $claims['nonce']]);
    $hash = $form === null ? '' : 'sha256:' . hash('sha256', $form);
    $refusal = match (true) {
        $claims['iss'] !== $trust['issuer'] => 'wrong-issuer',
        $claims['tenant'] !== $trust['tenant'] => 'wrong-tenant',
        $claims['aud'] !== $trust['toolName'] => 'wrong-tool',
        $isOver => 'expired',
        !hash_equals($claims['argumentsHash'], $hash) => 'wrong-arguments',
        // Several processes need a table with a unique key in place of this array.
        isset($used[$claims['jti']]) => 'already-used',
        default => 'valid',
    };
    if ($refusal === 'valid') {
        $used[$claims['jti']] = true;
    }
    return $refusal;
}

/** The bytes of a base64url text; none for another text of the same bytes, which would be another receipt for a list of used texts. */
function decode(string $text): string
{
    $bytes = (string) base64_decode(strtr($text, '-_', '+/'), true);
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=') === $text ? $bytes : '';
}

/** Reads a JSON object; null where it is none, or not as Countersign writes it: a member twice, or spaces. */
function read_part(string $part): ?array
{
    $text = decode($part);
    $value = json_decode($text, true);
    $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS;
    return is_array($value) && json_encode($value, $flags) === $text ? $value : null;
}

/** The RFC 8785 form of a value that `json_decode` returned with objects as objects; null for one that JSON does not have. */
function canonical(mixed $value): ?string
{
    if (is_float($value)) {
        return is_finite($value) ? number($value) : null;
    }
    if (is_array($value)) {
        $forms = array_map('canonical', $value);
        return in_array(null, $forms, true) ? null : '[' . implode(',', $forms) . ']';
    }
    if (!is_object($value)) {
        $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS;
        $text = json_encode($value, $flags);
        return $text === false ? null : $text;
    }
    $members = get_object_vars($value);
    // RFC 8785 sorts by UTF-16 units.
    uksort($members, fn ($a, $b) => strcmp(utf16((string) $a), utf16((string) $b)));
    $forms = [];
    foreach ($members as $name => $member) {
        [$key, $form] = [canonical((string) $name), canonical($member)];
        if ($key === null || $form === null) {
            return null;
        }
        $forms[] = "$key:$form";
    }
    return '{' . implode(',', $forms) . '}';
}

function utf16(string $text): string
{
    return mb_convert_encoding($text, 'UTF-16BE', 'UTF-8');
}

/** A number as ECMAScript writes it: 1e21 is `1e+21`, and 5.0 is `5`. */
function number(float $value): string
{
    if ($value == 0) {
        return '0';
    }
    ini_set('serialize_precision', '-1');
    preg_match('/^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/i', shortest($value), $found);
    [, $sign, $first, $rest, $exponent] = $found;
    [$digits, $point] = [$first . rtrim($rest, '0'), (int) $exponent + 1];
    $count = strlen($digits);
    if ($point > 21 || $point < -5) {
        $fraction = $count > 1 ? '.' . substr($digits, 1) : '';
        return $sign . $digits[0] . $fraction . 'e' . ($point > 0 ? '+' : '-') . abs($point - 1);
    }
    if ($point <= 0) {
        return $sign . '0.' . str_repeat('0', -$point) . $digits;
    }
    if ($count <= $point) {
        return $sign . str_pad($digits, $point, '0');
    }
    return $sign . substr($digits, 0, $point) . '.' . substr($digits, $point);
}

/** The shortest digits that read as the same number, as `d.ddde±x`. */
function shortest(float $value): string
{
    for ($digits = 0; $digits < 17; $digits += 1) {
        $text = sprintf("%.{$digits}e", $value);
        if ((float) $text === $value) {
            return $text;
        }
    }
    return sprintf('%.16e', $value);
}

$used = [];
while (($line = fgets(STDIN)) !== false) {
    $call = json_decode($line, true);
    // The arguments as they come over the wire: objects stay objects, so that {} and [] differ.
    $arguments = json_decode($call['body'])->arguments;
    echo verify_receipt($call['receipt'], $arguments, $call, $used), "\n";
}
