import type { Manifest } from './layout.js';

/** The README of a bundle, for an auditor who has nothing else of Countersign. */
export function readmeOf({ tenant, origin, range, values, commitments }: Omit<Manifest, 'files'>): string {
  const shown = JSON.stringify(tenant);
  const anchor =
    origin === null
      ? 'The log has no signed checkpoint, so nothing in this folder can be proven.'
      : `It ends with a checkpoint of the log \`${origin}\`, which a key signed.`;
  return `# Events of the tenant ${shown}

This folder has the first ${String(range.size)} events of a Countersign log, recorded from ${range.from ?? '-'} to ${range.to ?? '-'}.
${anchor}

## Verify it first

Trust comes from a key and a checkpoint that you kept yourself. Nothing in this folder vouches for itself, also not its
\`verify.mjs\`: take that program from a release of Countersign, or from a bundle that you have had for long.

    node verify.mjs . --vkey keys.txt --since checkpoints.txt

It needs Node 20 or newer and nothing else. \`countersign audit verify . --vkey keys.txt\` does the same. The exit code is 0 when
the log is proven, 3 when nothing from outside vouches for it, 1 when something is wrong, 2 when it cannot be read.

## What is where

| path | |
| --- | --- |
| \`manifest.json\` | the length and SHA-256 of every file, the range, the checkpoint |
| \`events/*.ndjson\` | every event in its stored form, one a line: \`index\`, \`entry\`, \`body\` |
| \`system.ndjson\` | those of them that say who configured what and who looked |
| \`views/<month>.ndjson\` | the same events as people read them, with secret values masked |
| \`views/<month>.csv\`, \`.parquet\` | the views as a table; \`columns.csv\` explains each column |
| \`policies/<digest>.json\` | the built-in policy and each policy that was in force; its name is its SHA-256 |
| \`checkpoints/<epoch>.txt\` | the newest signed checkpoint of each epoch |
| \`timestamps/<epoch>/<size>.tsr\`, \`.txt\` | the time stamp of RFC 3161 of a checkpoint, where there are any, and the text that is stamped |
| \`tiles/\` | the tree, a log of C2SP's tlog-tiles, for programs of others |

\`entry\` is what the tree commits to. Its \`body\` is the SHA-256 of the \`body\` of the line, in the form of RFC 8785. By hand:

    sed -n 1p events/000000000000.ndjson | jq -jcS .body | sha256sum
    sed -n 1p events/000000000000.ndjson | jq -r .entry.body

A time stamp is checked against the root of an authority that you trust, for example with OpenSSL:

    openssl ts -verify -in timestamps/1/250.tsr -data timestamps/1/250.txt -CAfile roots.pem

Values that were sealed stay sealed. An event that was recorded with secret values in clear ${
    values === 'clear'
      ? 'is shown with them: keep this folder like a secret'
      : 'has `"body": null`: it is a commitment only'
  }.
There are ${String(commitments)} commitments in this folder. \`position\` in the views is the index of the event.
`;
}
