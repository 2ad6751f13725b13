import { Option } from 'commander';

/** `--gate` of the commands that put tools of others behind approval. */
export function gateOption(): Option {
  return new Option(
    '--gate <which>',
    'calls that need a person: of tools that write, all, or none unless the policy says so',
  )
    .choices(['writes', 'all', 'none'])
    .default('writes');
}
