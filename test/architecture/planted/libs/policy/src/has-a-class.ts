// breaks: no-restricted-syntax
export class Thing {}
