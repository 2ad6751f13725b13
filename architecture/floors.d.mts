export interface Floor {
  unit: string;
  floor: number;
  ours: string[] | 'libs' | 'libs and shell' | 'everything';
  npm: string[] | 'declared';
  node: string[] | 'any';
  adapters?: Record<string, string[]>;
  pure?: boolean;
  edge?: string;
  bundled?: boolean;
}
export const floors: Floor[];
