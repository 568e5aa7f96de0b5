/** REQUEST stands for the request in the place of a stage, where inputs say where they come from. */
export const REQUEST = 'request';

/** requestKey is the key under which a row has a tensor of its request, and the source of an input that is fed with it. */
export const requestKey = (tensor: string) => `${REQUEST}.${tensor}`;
