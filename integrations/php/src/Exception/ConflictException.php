<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 409: the state of the call or approval does not allow it, such as `already-resolved` or `already-claimed`. */
final class ConflictException extends CountersignException
{
}
