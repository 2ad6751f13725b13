<?php

// A tool of instructor-php, or any other class of yours, behind the gate.

declare(strict_types=1);

use Countersign\Tool;

/** @param array<string, mixed> $schema JSON Schema of the parameters of `use` */
function gated(object $tool, array $schema): Tool
{
    return new Tool(
        $tool->name(),
        // Only the parameters that the schema names: PHP hands a number over by its place, past the condition.
        fn (array $input) => $tool->use(...array_intersect_key($input, $schema['properties'])),
        $tool->needsApproval(),
        ['additionalProperties' => false] + $schema,
        approvalPrompt: $tool->approvalPrompt(...),
    );
}
