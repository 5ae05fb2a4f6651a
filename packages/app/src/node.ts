/** The part that needs Node: reading built pages. */
export { readWebFiles, webFilesOf } from './web/web-files.ts';
