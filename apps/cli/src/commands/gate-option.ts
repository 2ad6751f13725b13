import { Option } from 'commander';

/** `--gate` of the commands that put tools of others behind approval. */
export function gateOption(): Option {
  return new Option('--gate <which>', 'calls that need a person: those of tools that write, all, or as the policy says')
    .choices(['writes', 'all', 'none'])
    .default('writes');
}
