<?php

// `php tests/run.php FILE…` runs the tests of files. Prints `N passed, N failed`.

declare(strict_types=1);

require __DIR__ . '/../autoload.php';

error_reporting(E_ALL);
set_error_handler(function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

/** A test: a sentence that is true when it passes. */
function test(string $name, callable $body): void
{
    global $passed, $failed;
    try {
        $body();
        $passed++;
    } catch (Throwable $error) {
        $failed++;
        echo "FAILED $name\n  $error\n";
    }
}

function same(mixed $expected, mixed $actual): void
{
    if ($expected !== $actual) {
        throw new LogicException('expected ' . var_export($expected, true) . ', got ' . var_export($actual, true));
    }
}

/** @param class-string<Throwable> $class */
function throws(string $class, string $pattern, callable $body): Throwable
{
    try {
        $body();
    } catch (Throwable $error) {
        if ($error instanceof $class && preg_match($pattern, $error->getMessage()) === 1) {
            return $error;
        }
        throw $error;
    }
    throw new LogicException("nothing was thrown, and not $class");
}

[$passed, $failed] = [0, 0];
foreach (array_slice($argv, 1) as $file) {
    require $file;
}
echo "$passed passed, $failed failed\n";
exit($failed === 0 ? 0 : 1);
