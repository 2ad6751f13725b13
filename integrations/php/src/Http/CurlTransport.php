<?php

declare(strict_types=1);

namespace Countersign\Http;

use CurlHandle;

/** Sends with ext-curl, over a connection that stays open. */
final class CurlTransport implements Transport
{
    /** The largest answer that is read. */
    private const ANSWER_BYTES_MAX = 64 * 2 ** 20;

    private readonly CurlHandle $curl;

    /** @param int $timeoutMs for one attempt, to the end of its answer. A read waits for people for 50 seconds of it */
    public function __construct(private readonly int $timeoutMs = 60_000)
    {
        $this->curl = curl_init();
    }

    public function send(string $method, string $url, array $headers, ?string $body): Answer
    {
        [$received, $content] = [[], ''];
        curl_reset($this->curl);
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $url,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_TIMEOUT_MS => $this->timeoutMs,
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HTTPHEADER => self::lines($headers),
            CURLOPT_HEADERFUNCTION => function (CurlHandle $_, string $line) use (&$received): int {
                [$name, $value] = explode(':', $line, 2) + [1 => null];
                if ($value !== null) {
                    $received[strtolower(trim($name))] = trim($value);
                }
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => function (CurlHandle $_, string $part) use (&$content): int {
                $content .= $part;
                // Another number than the length ends the transfer: a hostile server sends without end.
                return strlen($content) > self::ANSWER_BYTES_MAX ? 0 : strlen($part);
            },
        ]);
        if ($body !== null) {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, $body);
        }
        if (curl_exec($this->curl) === false) {
            throw new TransportException(curl_error($this->curl));
        }
        return new Answer(curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE), $received, $content);
    }

    /**
     * @param array<string, string> $headers
     * @return list<string>
     */
    private static function lines(array $headers): array
    {
        // Without `expect`, curl would wait a second before a large body.
        $lines = ['expect:'];
        foreach ($headers as $name => $value) {
            // A header without a value is written with a semicolon.
            $lines[] = $value === '' ? "$name;" : "$name: $value";
        }
        return $lines;
    }
}
