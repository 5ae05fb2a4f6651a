/** The application for the kernel: the manifest, the tables and the operations. */
import { defineOperations, defineVertical } from '@freehold/kernel';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { noteOperations } from './notes/operations.ts';

/** All operations by name. */
export const operations = defineOperations({ ...noteOperations });

export const vertical = defineVertical({ manifest, migrations, operations });
