<?php

// Serves what the components of @countersign/react ask for, under any path:
// `COUNTERSIGN_TOKEN=… php -S 127.0.0.1:8080 pages.php`. It needs guzzlehttp/psr7 and psr/http-server-handler, or those of your framework.

declare(strict_types=1);

use Countersign\ApprovalsHandler;
use Countersign\FrontEnd;
use GuzzleHttp\Psr7\HttpFactory;
use GuzzleHttp\Psr7\ServerRequest;
use Psr\Http\Message\ServerRequestInterface;

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

session_start();
$frontEnd = new FrontEnd(getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400', getenv('COUNTERSIGN_TOKEN'));
$responseFactory = $streamFactory = new HttpFactory();
$handler =
    new ApprovalsHandler(
        // The person of your own session, never of the request of a browser; null: nobody is signed in.
        fn (ServerRequestInterface $request) => isset($_SESSION['user']) ? $frontEnd->as(id: $_SESSION['user'], groups: ['support']) : null,
        $responseFactory,
        $streamFactory,
        origins: ['https://desk.example'],
    );
$response = $handler->handle(ServerRequest::fromGlobals());
http_response_code($response->getStatusCode());
foreach ($response->getHeaders() as $name => $values) {
    header("$name: " . implode(', ', $values));
}
echo $response->getBody();
