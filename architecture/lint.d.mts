export const floorsLint: { name: string; files: string[]; rules: Record<string, unknown> }[];
