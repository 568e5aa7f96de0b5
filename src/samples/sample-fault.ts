/** SampleFault says why bytes cannot be read as samples. The caller adds the place. */
export class SampleFault extends Error {}
