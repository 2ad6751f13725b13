<?php

declare(strict_types=1);

namespace Countersign;

use Closure;
use Throwable;

/** @internal What goes wrong inside the code of an application. PHP itself goes on after a warning, with null in place of the value. */
final class Faults
{
    private const BYTES_MAX = 2000;
    private const HANDLERS = 'error handlers were left or taken away';

    /**
     * Runs the code. Returns its result, and the first fault or null: an exception, or a warning, notice or deprecation, also after `@`.
     * The application's own error handler gets each of them too; without one they go to the error log, and never into the page.
     *
     * @return array{mixed, ?string}
     */
    public static function in(Closure $code): array
    {
        [$result, $fault, $outer] = [null, null, null];
        $handler = function (int $level, string $message, string $file, int $line) use (&$fault, &$outer): bool {
            $fault ??= $message;
            return $outer === null ? error_log("$message in $file on line $line") : $outer($level, $message, $file, $line) !== false;
        };
        $outer = set_error_handler($handler);
        try {
            $result = $code();
        } catch (Throwable $error) {
            $fault ??= $error->getMessage() ?: $error::class;
        }
        $isRestored = self::isRestored($handler, $outer);
        $fault ??= $isRestored ? null : self::HANDLERS;
        return [$result, $fault === null ? null : self::text(substr($fault, 0, self::BYTES_MAX))];
    }

    /** Returns the text as JSON can carry it. */
    public static function text(string $message): string
    {
        return json_decode((string) json_encode($message, JSON_INVALID_UTF8_SUBSTITUTE));
    }

    /** Restores the outer handler. Returns false if the code left a handler above ours, or took ours away: it may have hidden a fault. */
    private static function isRestored(Closure $handler, mixed $outer): bool
    {
        $isOurs = true;
        while (($top = self::handler()) !== $handler) {
            if ($top === $outer || $top === null) {
                return false;
            }
            restore_error_handler();
            $isOurs = false;
        }
        restore_error_handler();
        return $isOurs;
    }

    private static function handler(): mixed
    {
        $handler = set_error_handler(null);
        restore_error_handler();
        return $handler;
    }
}
