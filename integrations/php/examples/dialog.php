<?php

// The dialog of your application: `php dialog.php kim approve`. COUNTERSIGN_TOKEN has the role front-end.

declare(strict_types=1);

use Countersign\{ApprovalResponse, FrontEnd};
use Countersign\Exception\CountersignException;

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

[, $userId, $word] = $argv;
$url = getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400';

// The person of your own session, never of the request of a browser.
$frontEnd = new FrontEnd($url, getenv('COUNTERSIGN_TOKEN'));
$person = $frontEnd->as(id: $userId, groups: ['support'], assurance: 'low');
foreach ($person->approvals(['mine' => true]) as $found) {
    // Whole, with the other calls of its step that an approval may release.
    [$request] = $person->requests([$found->approvalId]);
    echo "{$request->text()}\n";
    $response = ApprovalResponse::to($request, approved: $word === 'approve', reason: "$word by hand", approvedBy: $userId);
    try {
        echo $person->respond($response)->state, "\n";
    } catch (CountersignException $error) {
        echo "{$error->problem}: {$error->detail}\n{$error->remedy}\n";
    }
}
