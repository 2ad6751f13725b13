<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\CountersignException;
use Countersign\Exception\UnavailableException;
use Countersign\Exception\UnreadableException;
use Countersign\Http\Answer;
use Countersign\Http\CurlTransport;
use Countersign\Http\Transport;
use Countersign\Http\TransportException;
use InvalidArgumentException;
use JsonException;

/**
 * Requests under one token. A request without an answer, or with 429 or 5xx, is sent again under the same `Idempotency-Key`.
 */
final class Connection
{
    private const DELAY_MS_MAX = 10_000;
    private const RETRY_AFTER_S_MAX = 60;
    /** Later attempts leave the position out: a log that was restored from a backup never reaches it. */
    private const POSITION_ATTEMPTS = 2;

    public readonly string $url;
    private readonly Transport $transport;
    private ?string $position = null;

    /**
     * @param int $attempts 9 take about half a minute
     * @param array<string, string> $headers more headers of each request, by their names in lower case
     * @throws InvalidArgumentException for an address or a token that cannot be sent
     */
    public function __construct(
        string $url,
        private readonly string $token,
        ?Transport $transport = null,
        private readonly int $attempts = 9,
        private readonly array $headers = [],
    ) {
        if (preg_match('~^https?://[^/?#@]+(/|$)~i', $url) !== 1) {
            throw new InvalidArgumentException(
                'url: the address must begin with http:// or https://, and have no user name and no password, such as http://127.0.0.1:7400.',
            );
        }
        if (preg_match('/^[\x21-\x7e]+$/D', $token) !== 1) {
            throw new InvalidArgumentException(
                'token: it is empty, or has a space, a line end or another character that no token has. Copy it again, without anything around it.',
            );
        }
        $this->url = rtrim($url, '/');
        $this->transport = $transport ?? new CurlTransport();
    }

    /** Returns the same connection under another token, or with more headers. */
    public function with(?string $token = null, array $headers = []): self
    {
        return new self($this->url, $token ?? $this->token, $this->transport, $this->attempts, [...$this->headers, ...$headers]);
    }

    /**
     * @param array<string, mixed> $query members that are null are left out
     * @throws CountersignException
     */
    public function get(string $path, array $query = []): object
    {
        return $this->send('GET', self::address($path, $query));
    }

    /**
     * @param ?string $key the `Idempotency-Key`. Give one of your own to send the same request again from another process
     * @throws CountersignException
     */
    public function post(string $path, array|object $body, ?string $key = null, ?int $attempts = null): object
    {
        return $this->send('POST', $path, Json::encode((object) $body), $key ?? self::newKey(), $attempts);
    }

    /** @throws CountersignException */
    public function delete(string $path, ?string $key = null): object
    {
        return $this->send('DELETE', $path, null, $key);
    }

    /**
     * Sends a request once, and returns the answer as it is.
     *
     * @internal
     * @throws TransportException | UnreadableException
     */
    public function forward(string $method, string $path, ?string $body): Answer
    {
        $answer = $this->transport->send($method, $this->url . $path, $this->headersOf($method, $body, null, 1), $body);
        self::refuseEncoding($answer);
        return $answer;
    }

    private function send(string $method, string $path, ?string $body = null, ?string $key = null, ?int $attempts = null): object
    {
        $last = $attempts ?? $this->attempts;
        for ($attempt = 1; ; $attempt++) {
            try {
                $answer = $this->transport->send($method, $this->url . $path, $this->headersOf($method, $body, $key, $attempt), $body);
                self::refuseEncoding($answer);
            } catch (TransportException $error) {
                if ($attempt >= $last) {
                    $detail = "no answer from {$this->url}: {$error->getMessage()}. Is Countersign running there?";
                    throw new UnavailableException('unreachable', $detail, previous: $error);
                }
                self::pause(self::delayMs($attempt));
                continue;
            }
            if ($answer->status >= 200 && $answer->status < 300) {
                $this->position = $answer->headers['countersign-position'] ?? $this->position;
                return self::objectIn($answer) ?? throw self::notOurs($answer);
            }
            $isPassing = $answer->status === 429 || $answer->status >= 500;
            if (!$isPassing || $attempt >= $last) {
                throw $this->refusalIn($answer);
            }
            self::pause(self::retryAfterMs($answer) ?: self::delayMs($attempt));
        }
    }

    /** @return array<string, string> */
    private function headersOf(string $method, ?string $body, ?string $key, int $attempt): array
    {
        $headers = ['authorization' => "Bearer {$this->token}", 'accept-encoding' => 'identity', ...$this->headers];
        if ($body !== null) {
            $headers['content-type'] = 'application/json';
        }
        if ($key !== null) {
            $headers['idempotency-key'] = $key;
        }
        if ($method === 'GET' && $this->position !== null && $attempt <= self::POSITION_ATTEMPTS) {
            // Behind several gateways, a read is then never older than our own writes.
            $headers['countersign-position'] = $this->position;
        }
        return $headers;
    }

    private function refusalIn(Answer $answer): CountersignException
    {
        $problem = self::objectIn($answer);
        if (is_string($problem?->code ?? null)) {
            return CountersignException::of($answer->status, $problem, $this->url);
        }
        // A proxy that takes no body of this size says so without a problem.
        return $answer->status === 413
            ? CountersignException::of(413, (object) ['code' => 'payload-too-large', 'detail' => 'a proxy refused the body'], $this->url)
            : self::notOurs($answer);
    }

    private static function notOurs(Answer $answer): UnreadableException
    {
        $detail = "an answer with status {$answer->status} that is not Countersign's: is the url right?";
        return new UnreadableException('unreadable', $detail, $answer->status);
    }

    private static function refuseEncoding(Answer $answer): void
    {
        $encoding = strtolower($answer->headers['content-encoding'] ?? 'identity');
        if ($encoding !== 'identity' && $encoding !== '') {
            $detail = 'a compressed answer, which was not asked for. Turn compression off in the proxy in front of Countersign.';
            throw new UnreadableException('unreadable', $detail, $answer->status);
        }
    }

    private static function objectIn(Answer $answer): ?object
    {
        try {
            $value = Json::answer($answer->body);
        } catch (JsonException) {
            return null;
        }
        return is_object($value) ? $value : null;
    }

    private static function address(string $path, array $query): string
    {
        $texts = array_map(fn (mixed $value) => is_bool($value) ? ($value ? 'true' : 'false') : $value, $query);
        $text = http_build_query($texts, '', '&', PHP_QUERY_RFC3986);
        return $text === '' ? $path : "$path?$text";
    }

    private static function newKey(): string
    {
        return 'php-' . bin2hex(random_bytes(16));
    }

    private static function retryAfterMs(Answer $answer): int
    {
        $text = $answer->headers['retry-after'] ?? '';
        return ctype_digit($text) ? 1000 * min((int) $text, self::RETRY_AFTER_S_MAX) : 0;
    }

    private static function delayMs(int $attempt): int
    {
        $longest = min(self::DELAY_MS_MAX, 200 * 2 ** min($attempt - 1, 10));
        return random_int(intdiv($longest, 2), $longest);
    }

    /** @internal */
    public static function pause(int $ms): void
    {
        usleep(1000 * $ms);
    }
}
