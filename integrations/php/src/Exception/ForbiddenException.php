<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 401 or 403: `unauthenticated`, `forbidden`, `own-request`, `not-an-approver`. */
final class ForbiddenException extends CountersignException
{
}
