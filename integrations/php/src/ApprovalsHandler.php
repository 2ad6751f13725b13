<?php

declare(strict_types=1);

namespace Countersign;

use Closure;
use Countersign\Exception\UnreadableException;
use Countersign\Http\TransportException;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Server\RequestHandlerInterface;

/**
 * Serves what the components of `@countersign/react` ask for, in the name of the signed-in person: a PSR-15 handler to mount under
 * a path of your application. The token of the front end never reaches the browser.
 *
 * It refuses writes that do not come from your own pages, takes nothing from the headers of the browser, and lets nothing be cached.
 */
final class ApprovalsHandler implements RequestHandlerInterface
{
    /** What the components ask for, and nothing else. */
    private const ROUTES = [
        ['GET', '~^/v1/me$~D'],
        ['GET', '~^/v1/approvals$~D'],
        ['GET', '~^/v1/approvals/[\w-]{1,200}$~D'],
        ['POST', '~^/v1/approvals/[\w-]{1,200}/responses$~D'],
        ['DELETE', '~^/v1/approvals/[\w-]{1,200}/responses/mine$~D'],
        ['POST', '~^/v1/approvals/[\w-]{1,200}/reveal$~D'],
        ['GET', '~^/v1/tool-calls/[\w-]{1,200}$~D'],
    ];
    /** The parts of a query that such a request has. */
    private const QUERIES = [
        'agentId', 'cursor', 'limit', 'mine', 'order', 'preview', 'response', 'runId', 'sort', 'state', 'toolCallId', 'toolName',
    ];
    private const BODY_BYTES_MAX = 2 ** 20;
    private const NEVER_KEPT = ['cache-control' => 'no-store', 'x-content-type-options' => 'nosniff'];

    /**
     * @param Closure(ServerRequestInterface): ?Approver $person `FrontEnd::as` for the user of your own session; null: nobody is signed in
     * @param ?list<string> $origins of your pages, such as `https://desk.example`. Default: the one of the request. Name them behind a proxy
     */
    public function __construct(
        private readonly Closure $person,
        private readonly ResponseFactoryInterface $responses,
        private readonly StreamFactoryInterface $streams,
        private readonly ?array $origins = null,
    ) {
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $path = $request->getUri()->getPath();
        $path = substr($path, (int) strrpos($path, '/v1/'));
        $method = $request->getMethod();
        if (!self::isServed($method, $path)) {
            return $this->refusal(404, 'not-found', 'This path is not served here.');
        }
        if (!$this->isOfOwnPage($request)) {
            return $this->refusal(403, 'forbidden', 'This request is not from a page of this application.');
        }
        $body = $method === 'POST' ? self::bodyOf($request) : '';
        if ($body === null) {
            $detail = 'Send JSON of at most 1 MiB, with the content type application/json.';
            return $this->refusal(415, 'unsupported-media-type', $detail);
        }
        $person = ($this->person)($request);
        if ($person === null) {
            return $this->refusal(401, 'unauthenticated', 'Sign in to this application.');
        }
        return $this->passOn($person, $method, $path . self::queryOf($request), $body);
    }

    private function passOn(Approver $person, string $method, string $path, string $body): ResponseInterface
    {
        try {
            $answer = $person->forward($method, $path, $body === '' ? null : $body);
        } catch (TransportException | UnreadableException) {
            return $this->refusal(502, 'unreachable', 'Countersign did not respond.');
        }
        if ($answer->status === 401) {
            // The token is refused: that is not the fault of the person, who is signed in.
            $detail = 'Countersign does not know this application. Its operator has to look at the token.';
            return $this->refusal(502, 'unreachable', $detail);
        }
        // Attack: a header of another server sets a cookie or opens the answer to other origins. Only two are passed on.
        $kept = array_intersect_key($answer->headers, ['content-type' => true, 'retry-after' => true]);
        return $this->response($answer->status, $kept, $answer->body);
    }

    private static function isServed(string $method, string $path): bool
    {
        foreach (self::ROUTES as [$served, $form]) {
            if ($served === $method && preg_match($form, $path) === 1) {
                return true;
            }
        }
        return false;
    }

    /**
     * Browsers say in `Sec-Fetch-Site` from which page a request is, which no page can set; old ones have `Origin` alone. A read
     * without both is of a program, which has no cookies of a person.
     *
     * Attack: a page of another site, also of a sub-domain, sends a decision with the cookies of the person.
     */
    private function isOfOwnPage(ServerRequestInterface $request): bool
    {
        $origin = $request->hasHeader('origin') ? $request->getHeaderLine('origin') : null;
        if ($origin !== null && $this->origins !== null) {
            return in_array($origin, $this->origins, true);
        }
        if ($request->hasHeader('sec-fetch-site')) {
            return $request->getHeaderLine('sec-fetch-site') === 'same-origin';
        }
        return $origin === null ? $request->getMethod() === 'GET' : $origin === self::originOf($request);
    }

    private static function originOf(ServerRequestInterface $request): string
    {
        $uri = $request->getUri();
        $port = $uri->getPort();
        return "{$uri->getScheme()}://{$uri->getHost()}" . ($port === null ? '' : ":$port");
    }

    /** The JSON text of a request; null for another type, which a form of a foreign page could send, and for too many bytes. */
    private static function bodyOf(ServerRequestInterface $request): ?string
    {
        $stream = $request->getBody();
        if ($stream->isSeekable()) {
            $stream->rewind();
        }
        $body = '';
        while (!$stream->eof() && strlen($body) <= self::BODY_BYTES_MAX) {
            $body .= $stream->read(65_536);
        }
        if ($body === '') {
            return '';
        }
        $isJson = preg_match('~^application/json\s*(?:;|$)~iD', $request->getHeaderLine('content-type')) === 1;
        return $isJson && strlen($body) <= self::BODY_BYTES_MAX ? $body : null;
    }

    /** By the text: PHP would write other names in its array. */
    private static function queryOf(ServerRequestInterface $request): string
    {
        $kept = [];
        foreach (explode('&', $request->getUri()->getQuery()) as $pair) {
            [$name, $value] = array_map(urldecode(...), explode('=', $pair, 2)) + [1 => ''];
            if (in_array($name, self::QUERIES, true)) {
                $kept[] = $name . '=' . rawurlencode($value);
            }
        }
        return $kept === [] ? '' : '?' . implode('&', $kept);
    }

    private function refusal(int $status, string $code, string $detail): ResponseInterface
    {
        $problem = ['type' => 'about:blank', 'title' => $code, 'status' => $status, 'code' => $code, 'detail' => $detail];
        return $this->response($status, ['content-type' => 'application/problem+json'], json_encode($problem, JSON_THROW_ON_ERROR));
    }

    /** @param array<string, string> $headers */
    private function response(int $status, array $headers, string $body): ResponseInterface
    {
        $response = $this->responses->createResponse($status)->withBody($this->streams->createStream($body));
        foreach ([...$headers, ...self::NEVER_KEPT] as $name => $value) {
            $response = $response->withHeader($name, $value);
        }
        return $response;
    }
}
