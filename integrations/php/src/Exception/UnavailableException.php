<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 429 or 5xx after the last attempt, or no answer at all (`unreachable`). */
final class UnavailableException extends CountersignException
{
}
