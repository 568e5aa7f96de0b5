import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { makeFolderWhole, schemaModeline, writeWhole } from '../../artifacts/index.js';
import { fault, InputError, option } from '../../formats/index.js';

/** EXAMPLES are the examples that the package has, by the kind of their spec. */
const EXAMPLES = ['pooled', 'pipeline', 'cascade', 'workflow'] as const;

/** ExampleName names an example of the package. */
export type ExampleName = (typeof EXAMPLES)[number];

/** ExampleFiles says what was written of an example. */
export interface ExampleFiles {
  readonly folder: string;
  /** The files in it, by name. */
  readonly files: readonly string[];
}

/** The plan that checks compare with, whose inputs are the files of the package. */
const LEFT_OUT = 'expected-plan.json';

/** The comment by which an editor finds the schema of a file. */
const MODELINE = /^# yaml-language-server: \$schema=.*\/([a-z-]+)\.schema\.json\n/;

/**
 * writeExample writes the files of an example into a folder: a spec that can be solved as it stands, with its profiles. The
 * folder is made, or is empty: no file of anybody is replaced.
 * @throws InputError where there is no such example, the folder holds files, or it cannot be written
 */
export async function writeExample(name: ExampleName, folder: string = name): Promise<ExampleFiles> {
  if (!EXAMPLES.includes(name))
    throw new InputError('write an example', [
      fault(`is ${name}; there are ${EXAMPLES.join(', ')}`, option('example')),
    ]);
  const source = join(dirname(createRequire(import.meta.url).resolve('#package')), 'examples', name);
  const files = (await readdir(source)).filter((file) => file !== LEFT_OUT).sort();
  await makeFolderWhole(
    folder,
    (target) => readdir(target),
    async (made) => {
      for (const file of files) {
        const bytes = await readFile(join(source, file));
        const isYaml = extname(file) === '.yaml';
        // The schema lies elsewhere, as seen from the folder that this one becomes.
        const text = isYaml ? withSchema(bytes.toString('utf8'), join(folder, file)) : bytes;
        await writeWhole(join(made, file), text);
      }
    },
  );
  return { folder, files };
}

function withSchema(text: string, path: string): string {
  return text.replace(MODELINE, (_, kind: string) => {
    const modeline = schemaModeline(kind, path);
    return modeline === undefined ? '' : `${modeline}\n`;
  });
}
