/** Real architectures with seeded weights and a symbolic batch, as ONNX files' bytes: same options, same bytes. */
export { BERT_SIZES, type BertOptions, type BertSize, bert } from './bert.js';
export { mobilenetv2 } from './mobilenetv2.js';
export { type ImageOptions, resnet18 } from './resnet18.js';
export { unet } from './unet.js';
