<?php

// For a project without Composer: `require 'integrations/php/autoload.php';`.
spl_autoload_register(function (string $name): void {
    if (!str_starts_with($name, 'Countersign\\')) {
        return;
    }
    $file = __DIR__ . '/src/' . strtr(substr($name, strlen('Countersign\\')), '\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});
