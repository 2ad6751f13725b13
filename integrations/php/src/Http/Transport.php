<?php

declare(strict_types=1);

namespace Countersign\Http;

/** Sends one HTTP request. It follows no redirect, and asks for no compression. */
interface Transport
{
    /**
     * @param array<string, string> $headers by their names in lower case
     * @throws TransportException when there is no whole answer
     */
    public function send(string $method, string $url, array $headers, ?string $body): Answer;
}
