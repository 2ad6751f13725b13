<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** The message is not signed with the secret, or is too old (`webhook`): answer it with 401. */
final class WebhookException extends CountersignException
{
}
