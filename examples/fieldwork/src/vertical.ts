/** Fieldwork as the kernel takes it: the manifest, the tables and the operations. */
import { defineVertical } from '@freehold/kernel';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { operations } from './operations.ts';

export const fieldwork = defineVertical({ manifest, migrations, operations });
