<?php

declare(strict_types=1);

namespace Countersign\Http;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/**
 * Sends with a PSR-18 client of yours, such as Guzzle. Give it a time limit of 60 s: a read waits for people for 50 s. It must
 * follow no redirects; PSR-18 says so.
 */
final class Psr18Transport implements Transport
{
    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(string $method, string $url, array $headers, ?string $body): Answer
    {
        $request = $this->requests->createRequest($method, $url);
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        if ($body !== null) {
            $request = $request->withBody($this->streams->createStream($body));
        }
        try {
            $response = $this->client->sendRequest($request);
            $received = [];
            foreach (array_keys($response->getHeaders()) as $name) {
                $received[strtolower((string) $name)] = $response->getHeaderLine((string) $name);
            }
            return new Answer($response->getStatusCode(), $received, (string) $response->getBody());
        } catch (ClientExceptionInterface | \RuntimeException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }
    }
}
