<?php

use Countersign\{Call, Claim, Json};

test('the canonical form sorts names by the code units of UTF-16', function () {
    $value = Json::decode('{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}');
    same("{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}", Json::canonical($value));
});

test('the canonical form has the numbers of ECMAScript, whatever the settings of PHP say', function () {
    $before = ini_set('serialize_precision', '5');
    $numbers = [0.1, 1.0, -0.0, 1e21, 1e20, 1e-6, 1e-7, 2 ** -44, 5e-324, 1.7976931348623157e308, 333333333.33333329, 123456789012345680000.0];
    $texts = '[0.1,1,0,1e+21,100000000000000000000,0.000001,1e-7,5.684341886080802e-14,5e-324,1.7976931348623157e+308,'
        . '333333333.3333333,123456789012345680000]';
    same($texts, Json::canonical($numbers));
    ini_set('serialize_precision', $before);
});

test('escapes are those of RFC 8785', function () {
    same('"\u0001\b\t\n\f\r\"\\\\/' . "\u{7f}\u{2028}\u{1f600}" . '"', Json::canonical("\x01\x08\t\n\f\r\"\\/\u{7f}\u{2028}\u{1f600}"));
});

test('an empty object is never an empty list', function () {
    same('{"a":{},"b":[],"c":{"10":[],"9":{}}}', Json::canonical(Json::decode('{"b":[],"a":{},"c":{"9":{},"10":[]}}')));
    $schema = ['type' => 'object', 'properties' => ['filter' => ['type' => 'object'], 'tags' => ['type' => 'array']]];
    $call = Call::normal(['arguments' => ['filter' => [], 'tags' => []], 'toolSchema' => $schema]);
    same('{"filter":{},"tags":[]}', Json::encode($call['arguments']));
    same('{}', Json::encode(Call::normal(['arguments' => []])['arguments']));
    same('{"filter":{}}', Json::encode(Call::normal(['arguments' => '{"filter":{}}'])['arguments']));
    $empty = ['type' => 'object', 'properties' => [], 'additionalProperties' => [], 'required' => [], 'anyOf' => [[]]];
    same(
        '{"type":"object","properties":{},"additionalProperties":{},"required":[],"anyOf":[{}]}',
        Json::encode(Call::normal(['arguments' => [], 'toolSchema' => $empty])['toolSchema']),
    );
});

test('a list is refused as arguments, and so is a text that is no JSON', function () {
    throws(InvalidArgumentException::class, '/must be a JSON object/', fn () => Call::normal(['arguments' => [1, 2]]));
    throws(InvalidArgumentException::class, '/no JSON/', fn () => Call::normal(['arguments' => '{"a":']));
});

test('a value without a JSON form is refused', function () {
    foreach ([NAN, INF, "\xff", fn () => 1] as $value) {
        throws(InvalidArgumentException::class, '/./', fn () => Json::encode($value));
    }
    throws(InvalidArgumentException::class, '/U\+0000/', fn () => Json::canonical(["\0a" => 1]));
    foreach ([["\0a" => 1], '{"\u0000a":1}'] as $arguments) {
        throws(InvalidArgumentException::class, '/^arguments: .*U\+0000/', fn () => Call::normal(['arguments' => $arguments]));
    }
    throws(InvalidArgumentException::class, '/beyond 2\^53/', fn () => Json::canonical(2 ** 53));
});

test('an answer is read with every name, also one that begins with U+0000', function () {
    $text = '{"\u0000x":{"a":{},"10":[{"\u0000":"y: \"z\":"}],"":"\\\\"},"s" : "\u0000x", "n":true}';
    $value = Json::answer($text);
    same(str_replace(['" : ', ', '], ['":', ','], $text), Json::encode($value));
    same("\0x", array_key_first(Json::toArray($value)));
    same([false, true], [Json::isWhole($value), Json::isWhole(Json::answer('{"s":[{}]}'))]);
    same('{"\u0000":1.2345678901234567e+19}', Json::encode(Json::answer('{"\u0000":12345678901234567890}')));
    throws(JsonException::class, '/./', fn () => Json::answer('{"\u0000x":1'));
});

test('a claim of anything but what was asked and approved does not run', function () {
    $input = ['tenant' => 'default', 'agentId' => 'agent', 'runId' => 'run', 'toolCallId' => 'c1', 'toolName' => 'refund', 'toolSchemaHash' => null, 'salt' => '00'];
    $asked = ['toolCallId' => 'c1', 'toolName' => 'refund', 'arguments' => ['amount' => 50]];
    $problem = function (array $arguments, ?array $approved = null, array $own = [], string $agent = 'agent', array $recorded = []) use ($input, $asked) {
        $digest = Claim::actionDigest($input, (object) ($approved ?? $arguments));
        $claim = (object) ['digestInput' => (object) $input, 'arguments' => (object) $arguments, 'actionDigest' => $digest];
        $call = (object) ['runId' => 'run', 'actionDigest' => $digest, ...$recorded];
        return Claim::problem($claim, $call, [...$asked, ...$own], $agent)['code'] ?? null;
    };
    same(null, $problem(['amount' => 50]));
    same(null, $problem(['amount' => 50.0]));
    same(null, $problem(['amount' => 7], recorded: ['originalArguments' => (object) ['amount' => 50]]));
    same('digest-mismatch', $problem(['amount' => 5000], ['amount' => 50]));
    same('digest-mismatch', $problem(['amount' => 5000]));
    same('digest-mismatch', $problem(['amount' => 50], recorded: ['actionDigest' => 'sha256:other']));
    same('digest-mismatch', $problem(['amount' => 50], agent: 'other'));
    same('digest-mismatch', $problem(['amount' => 50], own: ['toolName' => 'lookup']));
    same('digest-mismatch', $problem(['amount' => 2 ** 60], ['amount' => 50]));
    same('tool-schema-changed', $problem(['amount' => 50], own: ['toolSchema' => ['type' => 'object']]));
});

test('a bound in a schema counts as the nearest double', function () {
    $schema = ['properties' => ['amount' => ['type' => 'integer', 'maximum' => PHP_INT_MAX, 'minimum' => PHP_INT_MIN]]];
    same(
        // Recorded by a server, for this schema.
        'sha256:864d8cfbab1835024b454ec32ab1b95aefb6b78cc2b9a78ec08cb1d3258a8d32',
        Json::digest(Json::rounded(Call::normal(['toolSchema' => $schema])['toolSchema'])),
    );
});
