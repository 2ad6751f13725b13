<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\WebhookException;
use InvalidArgumentException;
use JsonException;
use SensitiveParameter;

/** Verifies messages of the webhook channel (Standard Webhooks 1.0, docs/channels.md). */
final class Webhook
{
    private const TOLERANCE_S = 300;

    /** @var list<string> */
    private readonly array $keys;

    /**
     * @param string $secrets `whsec_` and base64 of 24 to 64 bytes, as in the channels file; several with blanks between
     * @throws InvalidArgumentException for any other form
     */
    public function __construct(#[SensitiveParameter] string $secrets)
    {
        $texts = preg_split('/[\s\x{FEFF}]+/u', $secrets, -1, PREG_SPLIT_NO_EMPTY) ?: [];
        if ($texts === []) {
            throw self::badSecret('it is empty');
        }
        $this->keys = array_map(self::keyOf(...), $texts);
    }

    /**
     * Returns the message: `type`, `timestamp` and `data`. Give it the body as it was received, not one that was parsed and written again.
     * A message may arrive twice: its `webhook-id` header is then the same.
     *
     * @param array<string, string|list<string>> $headers in any case, such as `getallheaders()` or those of a PSR-7 request
     * @throws WebhookException answer it with 401
     */
    public function verify(string $body, array $headers, ?int $now = null): object
    {
        [$id, $sentAt, $signatures] = array_map(
            fn (string $name) => self::header($headers, $name),
            ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
        );
        if (!ctype_digit($sentAt) || strlen($sentAt) > 12 || abs(($now ?? time()) - (int) $sentAt) > self::TOLERANCE_S) {
            throw new WebhookException('webhook', 'The message is more than five minutes old or new, or has no time. Is the clock right?');
        }
        foreach ($this->keys as $key) {
            $right = base64_encode(hash_hmac('sha256', "$id.$sentAt.$body", $key, true));
            foreach (explode(' ', $signatures) as $signature) {
                if (hash_equals("v1,$right", $signature)) {
                    return self::message($body);
                }
            }
        }
        throw new WebhookException('webhook', 'No signature of the message is right. Is the secret the one of the channels file, and the body as it was received?');
    }

    private static function message(string $body): object
    {
        try {
            $message = Json::answer($body);
        } catch (JsonException $error) {
            throw new WebhookException('webhook', 'The message is no JSON.', previous: $error);
        }
        return is_object($message) ? $message : throw new WebhookException('webhook', 'The message is no JSON object.');
    }

    private static function header(array $headers, string $name): string
    {
        foreach ($headers as $given => $value) {
            if (strtolower((string) $given) === $name) {
                $text = is_array($value) ? implode(' ', $value) : $value;
                if ($text !== '') {
                    return $text;
                }
            }
        }
        throw new WebhookException('webhook', "The message has no header $name.");
    }

    private static function keyOf(string $secret): string
    {
        if (!str_starts_with($secret, 'whsec_')) {
            throw self::badSecret('it does not begin with whsec_');
        }
        $text = substr($secret, strlen('whsec_'));
        $key = base64_decode($text, true);
        // PHP reads some texts that other receivers read otherwise, or not at all.
        if ($key === false || base64_encode($key) !== $text) {
            throw self::badSecret('what follows whsec_ is no base64');
        }
        $bytes = strlen($key);
        return $bytes >= 24 && $bytes <= 64 ? $key : throw self::badSecret("it has $bytes bytes, not 24 to 64");
    }

    private static function badSecret(string $why): InvalidArgumentException
    {
        return new InvalidArgumentException("secret: $why. It is `whsec_` and base64 of 24 to 64 bytes: echo \"whsec_\$(openssl rand -base64 32)\".");
    }
}
