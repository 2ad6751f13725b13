<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** 410: nobody answered in time. */
final class ExpiredException extends CountersignException
{
}
