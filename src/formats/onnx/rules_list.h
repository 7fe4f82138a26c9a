// The shape rules by family; each is the `shape` of one or more rows of the operator table.
#pragma once

#include "formats/onnx/rules.h"

namespace allot::onnx {

// rules_basic.cpp: elementwise, constants, generators.
void sameShape(Site& site);       // output 0 is like input 0
void sameShapeBool(Site& site);   // as sameShape, truth values
void broadcastShape(Site& site);  // of all inputs, type of the first
void broadcastBool(Site& site);
void whereShape(Site& site);
void castShape(Site& site);
void castLikeShape(Site& site);
void dropoutShape(Site& site);
void constantShape(Site& site);
void constantOfShapeShape(Site& site);
void rangeShape(Site& site);
void eyeLikeShape(Site& site);
void likeShape(Site& site);  // input 0 with an optional attribute dtype
void randomShape(Site& site);
void multinomialShape(Site& site);
void windowShape(Site& site);
void melWeightShape(Site& site);
void shapeShape(Site& site);
void sizeShape(Site& site);
void detShape(Site& site);
void lossShape(Site& site);
void stringSplitShape(Site& site);
void tfIdfShape(Site& site);
void vectorOfUnknownShape(Site& site);
void imageDecoderShape(Site& site);
void batchNormShape(Site& site);
void layerNormShape(Site& site);
void optimizerShape(Site& site);  // Adagrad, Adam, Momentum

// rules_move.cpp: the same elements elsewhere.
void reshapeShape(Site& site);
void flattenShape(Site& site);
void squeezeShape(Site& site);
void unsqueezeShape(Site& site);
void transposeShape(Site& site);
void concatShape(Site& site);
void splitShape(Site& site);
void sliceShape(Site& site);
void expandShape(Site& site);
void tileShape(Site& site);
void padShape(Site& site);
void depthToSpaceShape(Site& site);
void spaceToDepthShape(Site& site);
void centerCropPadShape(Site& site);

// rules_index.cpp: places and choices.
void gatherShape(Site& site);
void gatherElementsShape(Site& site);
void gatherNdShape(Site& site);
void arrayFeatureShape(Site& site);
void oneHotShape(Site& site);
void topKShape(Site& site);
void reduceShape(Site& site);
void argShape(Site& site);
void nonZeroShape(Site& site);
void nonMaxSuppressionShape(Site& site);
void uniqueShape(Site& site);
void compressShape(Site& site);

// rules_window.cpp: convolutions, pools, resampling, transforms of signals.
void convShape(Site& site);
void nhwcConvShape(Site& site);
void convIntegerShape(Site& site);
void qlinearConvShape(Site& site);
void convTransposeShape(Site& site);
void deformConvShape(Site& site);
void causalConvShape(Site& site);
void poolShape(Site& site);
void qlinearPoolShape(Site& site);
void globalPoolShape(Site& site);
void maxUnpoolShape(Site& site);
void roiPoolShape(Site& site);
void roiAlignShape(Site& site);
void resizeShape(Site& site);
void upsampleShape(Site& site);
void gridSampleShape(Site& site);
void affineGridShape(Site& site);
void col2ImShape(Site& site);
void dftShape(Site& site);
void stftShape(Site& site);

// rules_matrix.cpp: products and recurrences.
void matMulShape(Site& site);
void matMulIntegerShape(Site& site);
void qlinearMatMulShape(Site& site);
void fusedMatMulShape(Site& site);
void gemmShape(Site& site);
void einsumShape(Site& site);
void recurrentShape(Site& site);  // RNN, GRU, LSTM
void matMulNBitsShape(Site& site);
void matMulIntegerToFloatShape(Site& site);
void qgemmShape(Site& site);
bool matMulDims(Site& site, const Shape& a, const Shape& b, Shape& out);

// rules_attention.cpp
void attentionShape(Site& site);
void flexAttentionShape(Site& site);
void linearAttentionShape(Site& site);
void msAttentionShape(Site& site);
void multiHeadAttentionShape(Site& site);
void decoderMaskedAttentionShape(Site& site);
void groupQueryAttentionShape(Site& site);
void gemmaRotaryShape(Site& site);
void skipLayerNormShape(Site& site);
void embedLayerNormShape(Site& site);
void skipGroupNormShape(Site& site);
void biasSplitGeluShape(Site& site);

// rules_quant.cpp
void quantizeShape(Site& site);
void dequantizeShape(Site& site);
void dynamicQuantizeShape(Site& site);
void qlinearBinaryShape(Site& site);
void qlinearConcatShape(Site& site);
void gatherBlockQuantizedShape(Site& site);
void qlinearReduceShape(Site& site);
void qlinearWhereShape(Site& site);
void reduceIntegerShape(Site& site);

// rules_sequence.cpp: sequences, optionals, control flow.
void sequenceConstructShape(Site& site);
void sequenceEmptyShape(Site& site);
void sequenceAtShape(Site& site);
void sequenceInsertShape(Site& site);
void sequenceEraseShape(Site& site);
void sequenceLengthShape(Site& site);
void sequenceMapShape(Site& site);
void splitToSequenceShape(Site& site);
void concatFromSequenceShape(Site& site);
void optionalShape(Site& site);
void optionalGetShape(Site& site);
void optionalHasShape(Site& site);
void ifShape(Site& site);
void loopShape(Site& site);
void scanShape(Site& site);

// rules_ml.cpp: ai.onnx.ml.
void mlFloatShape(Site& site);  // input 0 as floats
void labelEncoderShape(Site& site);
void oneHotEncoderShape(Site& site);
void linearRegressorShape(Site& site);
void classifierShape(Site& site);
void treeEnsembleShape(Site& site);
void featureVectorizerShape(Site& site);
void svmRegressorShape(Site& site);
void zipMapShape(Site& site);
void castMapShape(Site& site);

}  // namespace allot::onnx
