<?php

declare(strict_types=1);

namespace Countersign;

use DateTimeImmutable;
use DateTimeZone;

/** @internal */
final class Dates
{
    public static function text(DateTimeImmutable $date): string
    {
        return $date->setTimezone(new DateTimeZone('UTC'))->format('Y-m-d\TH:i:s.v\Z');
    }
}
