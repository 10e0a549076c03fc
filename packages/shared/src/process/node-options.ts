/**
 * The options of Node that api and worker processes are started with, unless NODE_OPTIONS says otherwise. Node 24 gives the
 * young generation up to 192 MB, four times as much as Node 20. That is too much beside an old generation of 384 MB in a
 * container of 512 MB.
 */
export const NODE_OPTIONS = '--max-semi-space-size=16';
