/** What may stand in the operator's file of providers: what the directory takes, with secrets by reference. */
import { providerKey } from '@freehold/contracts/http';
import { providerSchema } from '@freehold/directory';
import { z } from 'zod';

/** Where a secret is: the name of an environment variable, or a file, from the folder of the file that names it. */
const secretReference = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'must be { "env": "NAME" } or { "file": "PATH" }: no secret stands in this file itself' },
);
export type SecretReference = z.output<typeof secretReference>;

const provider = providerSchema(secretReference);
export type WrittenProvider = z.output<typeof provider>;

/** The whole file. Unknown fields are refused: a misspelt one would be a rule that nobody keeps. */
export const providersFile = z.strictObject({ providers: z.record(providerKey, provider) });
