<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 400, 413, 415 or 422: the request itself is wrong. `errors` names the members. */
final class InvalidRequestException extends CountersignException
{
}
