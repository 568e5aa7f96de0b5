/** door gives the function of a command, whose file and rooms are loaded when it is called first. */
export function door<Given extends readonly unknown[], Result>(
  open: () => Promise<(...given: Given) => Promise<Result>>,
): (...given: Given) => Promise<Result> {
  return async (...given) => (await open())(...given);
}
