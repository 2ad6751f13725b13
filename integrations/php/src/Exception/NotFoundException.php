<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 404: `not-found`, `unknown-approval`. */
final class NotFoundException extends CountersignException
{
}
