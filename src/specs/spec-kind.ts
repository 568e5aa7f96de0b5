/** SPEC_KINDS lists the kinds of spec that are planned. */
export const SPEC_KINDS = ['pooled', 'pipeline', 'cascade'] as const;

/** SpecKind is a kind of spec. */
export type SpecKind = (typeof SPEC_KINDS)[number];
