<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** The answer is not that of Countersign (`unreadable`), such as the page of a proxy. */
final class UnreadableException extends CountersignException
{
}
