<?php

// Receives the messages of a webhook channel: `HOOK_SECRET=whsec_… php -S 127.0.0.1:8080 webhook.php`.

declare(strict_types=1);

use Countersign\Exception\WebhookException;
use Countersign\Webhook;

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

$webhook = new Webhook(getenv('HOOK_SECRET'));
try {
    $message = $webhook->verify(file_get_contents('php://input'), getallheaders());
} catch (WebhookException $error) {
    error_log($error->getMessage());
    http_response_code(401);
    exit;
}
// Twice is possible: the header `webhook-id` is then the same. A message is news, not authority: read the step again.
error_log("{$message->type} {$message->data->callId}"); // such as: dispatch(new ResumeAgent($message->data->runId))
http_response_code(204);
